"""What the screen shows: rows that fit any terminal, in the order of what matters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.plan.model import GateResult, Need, NeedKind, Plan, Task, TaskState
from ralph.plan.work import Verdict, WorkKind
from ralph.text import plain, strip_ansi
from ralph.views import cells
from ralph.views.inbox import of_plan
from ralph.views.watching import frame, tasks
from ralph.views.watching.attempt_pane import TABS
from ralph.views.watching.frame import WatchState
from ralph.views.watching.screen import KEY, _named
from ralph.views.watching.story import Story
from tests.unit.journal.test_writer import ATTEMPT

HOSTILE = "\x1b[2J\x1b]0;owned\x07 over\rwritten \u202edetrevni 日本語 e\u0301\u0301 👩\u200d👩 \t tab\nnext"


def entry(event: e.Event, at: str = "2026-01-01T00:00:00Z") -> JournalEntry:
    return JournalEntry(v=1, seq=1, at=at, run="r", target="auth", event=event, more={}, line="")


def begins(work: str, number: int = 1, title: str = "t") -> e.AttemptStarted:
    return e.AttemptStarted(
        work=work, attempt=number, kind=WorkKind.TASK, title=title, failures=0, max_failures=3, base="b" * 40
    )


def story(*events: e.Event) -> Story:
    made = Story()
    for event in events:
        made.take(entry(event), Path("/nowhere"))
    return made


def plan() -> Plan:
    need = Need(kind=NeedKind.BLOCKED, why=HOSTILE)
    states = [TaskState.PASSED, TaskState.PENDING, TaskState.PENDING, TaskState.BLOCKED, TaskState.BLOCKED]
    made = [Task(id=f"T{number}", title=HOSTILE, state=state) for number, state in enumerate(states)]
    made[4] = replace(made[4], need=need)
    return Plan(target="auth", tasks=tuple(made), description=HOSTILE)


def test_what_needs_a_person_is_first_and_what_is_done_last() -> None:
    found = tasks.rows(plan(), story(begins("T2")), now=0, needs={"T4": 0})
    assert [row.work for row in found] == ["T4", "T2", "T3", "T1", "T0"]
    assert [row.mark for row in found] == ["!", "▶", "✗", "·", "✓"]
    assert [row.work for row in tasks.rows(plan(), Story(), 0, "t1")] == ["T1"]


def test_work_that_is_no_task_is_shown_while_it_goes_on_and_after_it() -> None:
    review = replace(begins("final", title="Final verification"), kind=WorkKind.REVIEW)
    assert tasks.rows(plan(), story(review), 0)[0].work == "final"
    told = story(review, replace(ATTEMPT, work="final", attempt=1, verdict=Verdict.PASSED))
    assert tasks.rows(plan(), told, 0)[-1].title == "Final verification"


def test_a_story_knows_what_goes_on_and_what_was_cut_short() -> None:
    told = story(
        begins("A"),
        e.StepStarted(work="A", attempt=1, step="verify"),
        e.GateStarted(work="A", attempt=1, gate="g", command="make"),
    )
    attempt = told.working["A"]
    assert (attempt.step, attempt.running, attempt.is_running) == ("verify", {"g": "make"}, True)
    red = GateResult(name="g", command="make", passed=False, seconds=1.0)
    told.take(entry(e.GateRepeated(work="A", attempt=1, result=red)), Path("/nowhere"))
    assert attempt.running == {"g": "make once more"}
    told.take(entry(e.GateEnded(work="A", attempt=1, result=replace(red, passed=True))), Path("/nowhere"))
    assert not attempt.running and attempt.gates["g"].passed
    told.close()
    assert not told.working and attempt.is_cut_short and not attempt.is_running


@settings(max_examples=60, deadline=None)
@given(
    st.integers(4, 220), st.integers(4, 60), st.sampled_from(TABS), st.booleans(), st.sampled_from(["", "nothing"]),
    st.none() | st.text(max_size=300), st.integers(0, 50),
)  # fmt: skip
def test_every_frame_has_the_rows_of_the_terminal_and_no_row_is_too_long(
    columns: int, rows: int, tab: str, is_open: bool, query: str, typed: str | None, scroll: int
) -> None:
    gate = GateResult(name="g", command=HOSTILE, passed=False, seconds=1.0, reason=HOSTILE, output=HOSTILE * 20)
    told = story(begins("T2", title=HOSTILE), e.GateEnded(work="T2", attempt=1, result=gate))
    state = WatchState(
        target="auth", title=HOSTILE, plan=plan(), items=of_plan("auth", plan(), "ralph run"), story=told,
        selected="T2", tab=tab, is_open=is_open, query=query,
        typed=typed, asked="Note:", scroll=scroll, message=HOSTILE, is_running=True, diff=lambda _: HOSTILE * 100,
    )  # fmt: skip
    state.update(0)
    shown = frame.rows(state, columns, rows, 0)
    assert len(shown) == rows
    for row in shown:
        assert cells.breadth(row) <= columns
        text = strip_ansi(row)
        assert "\n" not in text and plain(text) == text


def test_moving_stays_on_the_list_and_follows_a_task_that_moves() -> None:
    state = WatchState(target="auth", plan=plan(), items=of_plan("auth", plan(), "ralph run"))
    state.update(0)
    assert state.selected == "T4"
    state.move(-1)
    assert state.selected == "T4"
    state.move(100)
    assert state.selected == "T0"
    state.move(-1)
    assert state.selected == "T2"
    state.story = story(begins("T2"), begins("T2", 2))
    state.update(0)
    assert state.selected == "T2" and state.place == 2
    assert state.attempt and state.attempt.number == 2
    state.turn(-1)
    state.turn(-1)
    assert state.attempt and state.attempt.number == 1
    state.turn(1)
    assert state.attempt.number == 2


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"jk", ["j", "k"]),
        (b"\x1b[A\x1bOB\x1b[5~\x1b[H\x1b[Z", ["up", "down", "page up", "home", "back tab"]),
        (b"\x1b", ["esc"]),
        ("é日\r\t\x7f".encode(), ["é", "日", "enter", "tab", "backspace"]),
        (b"\x1b[200~\x1b[1;5C\x00\xff", ["right"]),
    ],
)
def test_keys_have_names(data: bytes, keys: list[str]) -> None:
    assert [name for found in KEY.finditer(data) if (name := _named(found))] == keys
