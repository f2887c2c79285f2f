"""The tokens of buttons: each works once, for a while, and cannot be read from the disk."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from ralph.notify.tokens import LIFETIME, MAX_TOKENS, Permit, TokenStore, url_for
from ralph.workspace import Workspace

PERMIT = Permit(action="approve", target="auth", task="US-001", attempt=3)


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(path=tmp_path / "private/tokens/project.json")


def test_a_token_works_once(store: TokenStore) -> None:
    token, other = store.make(PERMIT), store.make(Permit(action="retry", target="auth", task="US-002", attempt=1))
    assert store.take(token) == PERMIT
    assert store.take(token) is None
    assert store.take(other) == Permit(action="retry", target="auth", task="US-002", attempt=1)


def test_nothing_else_works(store: TokenStore) -> None:
    token = store.make(PERMIT)
    for wrong in ("", token[:-1], token.swapcase(), "../../etc", "\ud800", "x" * 100_000):
        assert store.take(wrong) is None
    assert store.take(token) == PERMIT


def test_an_old_token_does_not_work(store: TokenStore) -> None:
    token = store.make(PERMIT, now=1_000.0)
    assert store.take(token, now=1_000.0 + LIFETIME + 1) is None


def test_the_disk_holds_no_token_and_nobody_else_can_read_it(store: TokenStore) -> None:
    token = store.make(PERMIT)
    assert token not in store.path.read_text()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_the_number_of_tokens_is_bounded_and_the_oldest_go_first(store: TokenStore) -> None:
    first = store.make(PERMIT)
    entry = next(iter(json.loads(store.path.read_text()).values()))
    known = json.loads(store.path.read_text()) | {f"{number:064}": entry for number in range(MAX_TOKENS)}
    store.path.write_text(json.dumps(known))
    last = store.make(PERMIT)
    assert len(json.loads(store.path.read_text())) == MAX_TOKENS
    assert store.take(first) is None and store.take(last) == PERMIT


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"a": {"action": "delete", "until": 9e99}}', "\0"])
def test_a_damaged_file_allows_nothing_and_the_next_token_works(store: TokenStore, content: str) -> None:
    store.make(PERMIT)
    store.path.write_text(content)
    assert store.take("a") is None
    assert store.take(store.make(PERMIT)) == PERMIT


def test_a_token_that_many_take_at_once_works_for_one(store: TokenStore) -> None:
    token = store.make(PERMIT)
    begin, taken = threading.Barrier(8), []

    def take() -> None:
        begin.wait()
        taken.append(store.take(token))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(PERMIT) == 1
    assert taken.count(None) == 7


def test_projects_have_stores_of_their_own_outside_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    paths = {TokenStore.of(Workspace(root=tmp_path / name / "app")).path for name in ("one", "two")}
    assert len(paths) == 2 and all(path.is_relative_to(tmp_path / "data/ralph") for path in paths)


def test_the_address_of_a_button() -> None:
    assert url_for("https://box.example:8443/ralph/", "abc_-") == "https://box.example:8443/ralph/once/abc_-"
