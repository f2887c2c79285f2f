"""What an agent sees of a person's environment, and that no secret reaches a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.process.environment import Redactor, allowed, for_git, secrets_in

PLACEHOLDER = b"[secret]"


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "HTTPS_PROXY", "no_proxy", "GIT_AUTHOR_NAME", "TZ"]
)
def test_what_programs_need_to_run_is_passed_on(name: str) -> None:
    assert allowed({name: "v"}, ()) == {name: "v"}


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "NPM_TOKEN",
        "MY_PATH",
        "PATH_X",
        "path",
        "LC",
        "LD_PRELOAD",
    ],
)
def test_what_opens_a_door_is_not_passed_on(name: str) -> None:
    assert allowed({name: "v", "PATH": "p"}, ()) == {"PATH": "p"}


def test_a_person_can_let_more_through_by_name_and_by_pattern() -> None:
    environment = {"FOO_A": "1", "FOO_B": "2", "BAR": "3", "BAR_X": "4"}
    assert allowed(environment, ("FOO_*", "BAR")) == {"FOO_A": "1", "FOO_B": "2", "BAR": "3"}


@given(
    st.dictionaries(st.text("ABPTH_KEY", min_size=1, max_size=6), st.text(max_size=4)), st.sampled_from(["A*", "*_KEY"])
)
def test_nothing_is_passed_on_that_was_not_there_and_nothing_is_changed(environment: dict[str, str], also: str) -> None:
    passed = allowed(environment, (also,))
    assert passed.items() <= environment.items()
    assert set(allowed(environment, ())) <= set(passed)


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("ANTHROPIC_API_KEY", "sk-ant-12345", True),
        ("github_token", "ghp_12345678", True),
        ("DB_PASSWORD", "correct horse", True),
        ("MY_SECRET", "12345678", True),
        ("API_KEY", "short", False),
        ("GIT_AUTHOR_NAME", "Jane Developer", False),
        ("EDITOR", "a long program name", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent.sock", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False),
    ],
)
def test_values_are_secrets_by_the_name_they_have(name: str, value: str, secret: bool) -> None:
    assert (value in secrets_in({name: value})) is secret


def test_longer_secrets_come_first_and_each_once() -> None:
    environment = {"A_KEY": "aaaaaaaa", "B_KEY": "aaaaaaaabbbb", "C_TOKEN": "aaaaaaaa"}
    assert secrets_in(environment) == ("aaaaaaaabbbb", "aaaaaaaa")


SECRETS = st.lists(st.text("xyz", min_size=8, max_size=12), min_size=1, max_size=3, unique=True)


@st.composite
def leaks(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Secrets, and a text with some of them in it, cut into pieces anywhere."""
    secrets = draw(SECRETS)
    parts = draw(st.lists(st.sampled_from(secrets) | st.text("xyz ab\n", max_size=8), max_size=12))
    data = "".join(parts).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return sorted(secrets, key=len, reverse=True), [
        data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)
    ]


def redacted(secrets: list[str], pieces: list[bytes]) -> bytes:
    redactor = Redactor(secrets)
    return b"".join([*(redactor.feed(piece) for piece in pieces), redactor.flush()])


@given(leaks())
def test_no_secret_survives_however_the_output_is_cut(case: tuple[list[str], list[bytes]]) -> None:
    secrets, pieces = case
    clean = redacted(secrets, pieces)
    assert not any(secret.encode() in clean for secret in secrets)
    assert (clean == b"".join(pieces)) == (not any(secret.encode() in b"".join(pieces) for secret in secrets))


@given(leaks())
def test_nothing_that_has_been_let_out_can_still_become_a_secret(case: tuple[list[str], list[bytes]]) -> None:
    secrets, pieces = case
    redactor = Redactor(secrets)
    out = b""
    for piece in pieces:
        out += redactor.feed(piece)
        assert not any(secret.encode() in out for secret in secrets)


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_other_output_is_unchanged(pieces: list[bytes]) -> None:
    assert redacted(["correct horse battery"], pieces) == b"".join(pieces)
    assert redacted([], pieces) == b"".join(pieces)


@given(st.lists(st.sampled_from(["sk-ant-12345", "word ", "é日", "\n", "sk-ant-1234"]), max_size=8), st.data())
def test_what_stands_around_a_secret_is_kept(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert redacted(["sk-ant-12345"], pieces) == text.replace(b"sk-ant-12345", PLACEHOLDER)


def test_output_is_not_held_back_longer_than_a_secret_could_be() -> None:
    redactor = Redactor(["abcdefgh"])
    assert redactor.feed(b"x" * 100 + b"abcdefg") == b"x" * 100
    assert redactor.feed(b"!") == b"abcdefg!"
    assert redactor.feed(b"ab") == b""
    assert redactor.flush() == b"ab"


def test_a_secret_at_the_very_end_is_replaced() -> None:
    assert redacted(["abcdefgh"], [b"key: abcd", b"efgh"]) == b"key: [secret]"


def test_a_secret_that_begins_like_a_shorter_one_leaves_no_rest_behind() -> None:
    assert redacted(["abcdefgh12345678", "abcdefgh"], [b"abcdefgh", b"12345678"]) == PLACEHOLDER


def test_a_secret_that_is_no_text_is_replaced() -> None:
    assert redacted(["\udcffsecretkey"], [b"<\xffsecretkey>"]) == b"<[secret]>"


def test_text_is_cleaned_as_a_whole() -> None:
    redactor = Redactor(["pässword"])
    assert redactor.text("the pässword is pässword") == "the [secret] is [secret]"
    assert Redactor([]).text("as it is") == "as it is"


def test_git_looks_where_it_is_run_also_inside_of_a_hook_that_receives() -> None:
    inside_of_a_hook = {"GIT_QUARANTINE_PATH": "/q", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/o", "GIT_NAMESPACE": "n"}
    assert for_git({**inside_of_a_hook, "HOME": "/home"}) == {"HOME": "/home"}
