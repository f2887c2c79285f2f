from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.plan.evidence import Evidence
from ralph.plan.model import Acceptance, Finding, GateResult, Need, NeedKind, Severity, Task, TaskState
from ralph.report.attention import MANY_LINES, notices
from ralph.report.facts import Change, PlanReport
from tests.unit.report.build import COMMIT, attempt, of, passed_task, report


def texts(found: PlanReport) -> list[str]:
    return [f"{one.task} {one.text}".strip() for one in notices(found)]


def test_proven_work_of_a_finished_plan_needs_no_attention() -> None:
    assert texts(report(of(passed_task(), attempt()))) == []


IN_PLACE = GateResult(name="tests", command="pytest", passed=True, seconds=1.0, in_place=True)
ODD = [
    (passed_task(result={"evidence": Evidence.REGRESSION_ONLY}), "regression-only: nothing fails without this work"),
    (passed_task(result={"evidence": Evidence.UNVERIFIED, "gates": ()}), "unverified: no gate was required"),
    (passed_task(result={"accepted": Acceptance(by="Ada", why="seen")}), "accepted by Ada: seen; no gate decided"),
    (passed_task(result={"concerns": ("a looser test",)}), "may have weakened the checks: a looser test"),
    (passed_task(result={"concerns": ("x",)}, approved=("x",)), "you approved a changed check: x"),
    (passed_task(result={"gates": (IN_PLACE,)}), "its gates ran where the agent worked"),
    (passed_task(waived=("lint",)), "passed without `lint`, which you waived"),
    (
        passed_task(findings=(Finding(severity=Severity.MAJOR, problem="No limit"),)),
        "its reviewer found: major: No limit",
    ),
]


@pytest.mark.parametrize(("task", "text"), ODD, ids=[text[:30] for _, text in ODD])
def test_what_is_unusual_about_a_passed_task_is_named(task: Task, text: str) -> None:
    assert any(text in line for line in texts(report(task)))


def test_a_minor_finding_is_left_to_the_details() -> None:
    assert not texts(report(passed_task(findings=(Finding(severity=Severity.MINOR, problem="A name"),))))


def test_tampering_size_and_many_attempts_are_named() -> None:
    tried = [attempt(number=number, verdict="failed", undone=("Makefile",)) for number in (1, 2)]
    large = Change(base="b" * 40, commit=COMMIT, files=2, added=MANY_LINES, removed=1)
    found = texts(report(of(passed_task(), *tried, attempt(number=3), change=large)))
    assert "US-001 an attempt changed files that were not its own, and Ralph put them back: Makefile" in found
    assert "US-001 a large change: 401 lines in 2 files" in found
    assert "US-001 took 3 attempts" in found


def test_the_most_urgent_comes_first() -> None:
    need = Need(kind=NeedKind.BLOCKED, why="no account")
    waiting = Task(id="US-002", title="", state=TaskState.BLOCKED, need=need)
    blocked = Task(id="US-003", title="", state=TaskState.BLOCKED, notes="red\nmore")
    left = Task(id="US-004", title="")
    found = report(passed_task(result={"evidence": Evidence.REGRESSION_ONLY}), left, blocked, waiting)
    begins = ["US-002 needs you: no account", "US-003 blocked: red", "US-001 regression-only", "1 task not done yet"]
    assert [line.startswith(begin) for line, begin in zip(texts(found), begins, strict=True)] == [True] * 4
    assert notices(found)[0].commands == ('ralph decide auth US-002 --note "…"', "ralph decide auth US-002 --skip")


def test_while_a_run_works_on_it_nobody_is_told_to_start_one() -> None:
    found = report(Task(id="US-001", title=""))
    assert texts(found) and not texts(replace(found, running="20260101-000000-00000000"))
