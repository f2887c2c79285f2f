"""Lines as a person reads them: broken between words, stamped where nobody watches, a heartbeat a minute."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.journal import events as e
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict
from ralph.text import strip_ansi
from ralph.views import words
from ralph.views.lines import Clock, stamped, wrapped
from ralph.views.terminal import TerminalView
from tests.unit.journal.test_writer import ATTEMPT


def test_a_long_line_goes_on_below_its_beginning() -> None:
    assert wrapped("  one two three four", 12) == "  one two\n    three\n    four"
    assert wrapped("  one two three four", 12, 0) == "  one two\n  three four"
    assert wrapped("see /a/very/long/path/to/a/file now", 12) == "see\n  /a/very/long/path/to/a/file\n  now"
    assert wrapped("\x1b[31mone two three\x1b[0m", 9) == "\x1b[31mone two\n  three\x1b[0m"
    assert wrapped("日本 日本 日本", 9) == "日本 日本\n  日本"


def test_what_a_gate_says_twice_is_shown_once() -> None:
    said = "E   assert 3 == 2\ntest_a.py:3: AssertionError\n---\nE   assert 3 == 2\n  test_a.py:3: AssertionError\n"
    assert words.telling(said) == ["E   assert 3 == 2", "test_a.py:3: AssertionError"]


@given(st.lists(st.text("ab ☑\n", max_size=60)), st.integers(10, 80), st.integers(0, 5))
def test_no_word_is_lost_and_none_is_cut(texts: list[str], width: int, hang: int) -> None:
    text = " ".join(texts)
    assert wrapped(text, width, hang).split() == text.split()
    for line in wrapped(text, width, hang).split("\n"):
        assert len(strip_ansi(line).rstrip()) <= width or " " not in line.strip()


def test_what_does_not_fit_ends_with_a_whole_word() -> None:
    assert words.cut("one two three four", 12) == "one two …"
    assert words.cut("one two", 7) == "one two"
    assert words.cut("a" * 20, 10) == "a" * 9 + "…"
    assert all(len(words.cut("some words of any length", width)) <= width for width in range(1, 40))


def test_each_line_has_its_time_and_an_empty_one_has_none() -> None:
    assert stamped("\nx\n  y", "12:00:00") == "\n12:00:00 x\n12:00:00   y"


@pytest.mark.parametrize(
    ("red", "said", "asked"),
    [(("a",), "It must pass", "Does it pass"), (("a", "b"), "They must pass", "Do they pass")],
)
def test_one_gate_that_fails_already_is_not_told_of_as_several(
    red: tuple[str, ...], said: str, asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    TerminalView()(e.BaselineEnded(red=red, seconds=1))
    shown = capsys.readouterr().out
    assert f"Already failing before the first attempt. {said} for a task to pass." in shown
    assert f"{asked} in your checkout?" in shown


def test_the_last_words_of_an_agent_are_shown_without_empty_lines(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "The agent ended with exit code 1.\n\nIts last words:\n\nno such turn"
    TerminalView()(replace(ATTEMPT, verdict=Verdict.FAILED, reason=reason, gates=()))
    shown = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[-1].strip() for line in shown[-2:]] == ["Its last words:", "no such turn"]


def test_an_agent_that_works_for_long_is_told_of_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = [100.0]
    view = TerminalView(clock=Clock(seconds=lambda: now[0], of_day=lambda: "12:34:56"))

    def said(seconds: float) -> str:
        now[0] += seconds
        view.tick()
        return capsys.readouterr().out

    view(e.AgentStarted(work="US-001", attempt=1, command="/bin/claude", prompt_chars=1, log=""))
    assert said(59) == ""
    assert said(1) == "12:34:56     … agent claude working, 1 m 00 s so far, silent for 1 m 00 s\n"
    assert said(30) == ""
    view(e.AgentSpoke(work="US-001", attempt=1, text="Reading"))
    assert said(29) == ""
    assert said(1) == "12:34:56     … agent claude working, 2 m 00 s so far, silent for 30 s\n"
    ended = e.AgentEnded(
        work="US-001", attempt=1, how="exited", code=0, seconds=1, output_bytes=1, claims=("DONE",), usage=Usage()
    )
    view(ended)
    assert capsys.readouterr().out == "12:34:56     agent says DONE · 1.0 s\n"
    assert said(600) == ""


def test_a_warning_beside_a_document_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    view = TerminalView(as_json=True)
    view(e.Noted(text="The disk is nearly full.", warning=True))
    view(e.Noted(text="A detail."))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("  ! The disk is nearly full.\n")
    assert "detail" not in said.err
