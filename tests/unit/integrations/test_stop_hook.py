"""The Stop hook for Claude Code: what it writes into a person's settings, and what it answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.integrations import stop_hook

ASKED = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "stop_hook_active": True})
OWN = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "PreToolUse": []}}


def write(root: Path, text: str) -> Path:
    path = root / stop_hook.SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_it_is_added_once_and_removed_without_a_trace(tmp_path: Path) -> None:
    assert stop_hook.add(tmp_path) and not stop_hook.add(tmp_path)
    assert json.loads((tmp_path / stop_hook.SETTINGS).read_text())["hooks"]["Stop"] == [{"hooks": [stop_hook.HOOK]}]
    assert stop_hook.remove(tmp_path) and not stop_hook.remove(tmp_path)
    assert not (tmp_path / stop_hook.SETTINGS).exists()


def test_a_person_s_own_settings_and_hooks_stay(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(OWN))
    stop_hook.add(tmp_path)
    assert len(json.loads(path.read_text())["hooks"]["Stop"]) == 2
    stop_hook.remove(tmp_path)
    assert json.loads(path.read_text()) == OWN


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": [1]}}'])
def test_settings_that_cannot_be_read_are_left_as_they_are(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RalphError, match=r"settings\.json"):
        stop_hook.add(tmp_path)
    assert path.read_text() == text


def test_a_session_is_held_while_the_gates_fail_but_not_for_ever(tmp_path: Path) -> None:
    for _ in range(stop_hook.MAX_BLOCKS):
        held = stop_hook.answer(tmp_path, ASKED, "make test: exit code 2", is_verified=True)
        assert held["decision"] == "block" and "make test: exit code 2" in held["reason"]
    released = stop_hook.answer(tmp_path, ASKED, "make test: exit code 2", is_verified=True)
    assert "decision" not in released and "still fail" in released["systemMessage"]


def test_green_gates_let_it_go_and_the_count_starts_again(tmp_path: Path) -> None:
    stop_hook.answer(tmp_path, ASKED, "red", is_verified=True)
    assert stop_hook.answer(tmp_path, ASKED, "", is_verified=True) == {}
    assert list(tmp_path.iterdir()) == []


def test_without_gates_it_says_so_and_holds_nobody(tmp_path: Path) -> None:
    assert "no gate" in stop_hook.answer(tmp_path, ASKED, "", is_verified=False)["systemMessage"]


@pytest.mark.parametrize(
    "asked", ["", "{", "[]", "1", '{"session_id": {"a": 1}}', '{"session_id": "../../etc"}', "[" * 9999]
)
def test_what_the_hook_is_asked_is_not_trusted(tmp_path: Path, asked: str) -> None:
    assert stop_hook.answer(tmp_path / "records", asked, "red", is_verified=True)["decision"] == "block"
    (held,) = (tmp_path / "records").iterdir()
    held.write_bytes(b"nonsense")
    assert stop_hook.answer(tmp_path / "records", asked, "red", is_verified=True)["decision"] == "block"
