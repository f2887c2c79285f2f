"""The run's line: how far it is, what it cost, how long the rest takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph.journal import events as e
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Verdict, WorkKind
from ralph.views.pace import RunPace
from ralph.views.run_line import RunLine, about, price
from tests.unit.journal.test_writer import ATTEMPT


def started(**given: Any) -> e.RunStarted:
    values: dict[str, Any] = {
        "run": "20260101-000000-00000000", "target": "auth", "workflow": "feature", "version": "0", "tasks": 8,
        "passed": 0, "blocked": 0, "branch": "b", "slots": "s", "agent": "claude", "gates": (), "jobs": 2,
    }  # fmt: skip
    return e.RunStarted(**{**values, **given})


def begins(work: str, passed: int = 0, kind: WorkKind = WorkKind.TASK) -> e.AttemptStarted:
    return e.AttemptStarted(
        work=work, attempt=1, kind=kind, title="t", failures=0, max_failures=3, base="", tasks=8, passed=passed
    )


def ends(work: str, seconds: float, passed: int, **given: Any) -> e.AttemptEnded:
    values = {"kind": WorkKind.TASK, "verdict": Verdict.PASSED, **given}
    return replace(ATTEMPT, work=work, attempt=1, seconds=seconds, tasks=8, passed=passed, accepted=0, **values)


def step(work: str, name: str) -> e.StepStarted:
    return e.StepStarted(work=work, attempt=1, step=name)


def agent_ended(work: str, **usage: Any) -> e.AgentEnded:
    used = Usage(calls=1, **usage)
    return e.AgentEnded(work=work, attempt=1, how="exited", code=0, seconds=1, output_bytes=1, claims=(), usage=used)


def test_the_line_of_a_run_from_beginning_to_end() -> None:
    line = RunLine()
    line.take(started(), 0)
    assert line.text(5) == "0/8 · 5 s"
    line.take(begins("A"), 10)
    line.take(begins("B"), 10)
    assert line.text(20) == "0/8 · 2 running · 20 s"
    line.take(agent_ended("A", cost_usd=1.25), 60)
    line.take(ends("A", 60, 1), 70)
    assert line.text(70) == "1/8 · 1 running · 1 m · $1.25"
    assert line.text(110) == "1/8 · 1 running · 1 m · $1.25 · silent 40 s"
    line.take(e.AgentSpoke(work="B", attempt=1, text="x"), 110)
    assert "silent" not in line.text(111)
    line.take(e.Waited(reason="limit", seconds=600, agent="claude"), 120)
    assert "silent" not in line.text(700), "it waits, and says so elsewhere"
    line.take(ended(tasks=8, passed=1), 720)
    assert line.text(9999) == "1/8 · 12 m · $1.25", "it stands still"
    line.take(started(passed=1), 10_000)
    assert line.text(10_001) == "1/8 · 1 s", "another run"


def ended(**given: Any) -> e.RunEnded:
    values: dict[str, Any] = {
        "run": "r", "target": "auth", "workflow": "feature", "ending": Ending.DONE, "reason": "", "seconds": 1,
        "blocked": 0, "attempts": 1, "verified": True, "gates": 1, "usage": Usage(),
    }  # fmt: skip
    return e.RunEnded(**{**values, **given})


def paced(jobs: int = 2) -> RunPace:
    """Three tasks took 100, 60 and 200 seconds; the gates took the last ten of each."""
    pace = RunPace()
    pace.take(started(jobs=jobs), 0)
    for number, took in enumerate((100, 60, 200)):
        work = f"T{number}"
        pace.take(begins(work), 0)
        pace.take(step(work, "agent"), 0)
        pace.take(step(work, "verify"), took - 10)
        pace.take(ends(work, took, number + 1), took)
        assert (pace.left(5, took) is None) == (number < 2), "it needs a basis"
    return pace


def test_what_is_left_follows_from_the_medians_of_tasks_and_steps() -> None:
    pace = paced()
    assert pace.left(5, 200) == 5 * 100 / 2, "two at a time"
    pace.take(begins("A"), 200)
    pace.take(step("A", "agent"), 200)
    assert pace.left(5, 240) == (4 * 100 + 60) / 2
    pace.take(step("A", "verify"), 500)
    assert pace.left(5, 500) == (4 * 100 + 10) / 2, "it took long, but now its gates run"
    assert pace.left(1, 505) == 5
    assert pace.left(1, 600) is None, "overdue: nobody knows"


def test_a_failed_attempt_adds_to_its_task() -> None:
    pace = paced(1)
    pace.take(begins("A"), 200)
    pace.take(ends("A", 100, 3, verdict=Verdict.FAILED), 300)
    pace.take(begins("A"), 300)
    pace.take(ends("A", 100, 4), 400)
    assert pace.left(1, 400) == 150, "the median of 60, 100, 200, 200"


def test_the_final_verification_takes_its_time_too() -> None:
    pace = paced(1)
    pace.take(begins("final", kind=WorkKind.REVIEW), 200)
    pace.take(ends("final", 30, 3, kind=WorkKind.REVIEW), 230)
    assert pace.left(1, 230) == 130


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (720, "12 m"), (4000, "1 h 06 m"), (-3, "0 s")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert about(seconds) == text


def test_a_price_says_what_is_not_known() -> None:
    assert price(Usage(cost_usd=1.4, calls=2)) == "$1.40"
    assert price(Usage(cost_usd=1.4, calls=2, unpriced=1)) == "$1.40+"
    assert price(Usage(cost_usd=1.4, calls=2, estimated=2)) == "~$1.40"
