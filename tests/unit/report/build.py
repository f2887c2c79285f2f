"""Builds reports out of plain values."""

from __future__ import annotations

from typing import Any

from ralph.plan.budget import AmountSpent
from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult, Plan, Task, TaskResult, TaskState
from ralph.plan.usage import Usage
from ralph.report.facts import AttemptHistory, Change, History, PlanReport, RunFacts, TaskFacts

COMMIT = "a" * 40
GREEN = GateResult(name="tests", command="pytest", passed=True, seconds=1.0)


def passed_task(name: str = "US-001", **more: Any) -> Task:
    result = {"gates": (GREEN,), "evidence": Evidence.PROVEN, "proven_by": ("tests",), **more.pop("result", {})}
    kept = TaskResult(completed_at="2026-01-01T00:00:00Z", commit=COMMIT, summary="", **result)
    return Task(id=name, title=f"Task {name}", state=TaskState.PASSED, result=kept, **more)


def attempt(work: str = "US-001", number: int = 1, **more: Any) -> AttemptHistory:
    known: dict[str, Any] = {
        "run": "20260101-000000-00000000",
        "kind": "task",
        "title": "",
        "begin": 0.0,
        "end": 2.0,
        "verdict": "passed",
        "reason": "",
        "seconds": 2.0,
        "agent": "claude",
        "usage": Usage(),
    }
    return AttemptHistory(work=work, number=number, **{**known, **more})


def report(*tasks: TaskFacts | Task, runs: tuple[RunFacts, ...] = (), **more: Any) -> PlanReport:
    facts = tuple(task if isinstance(task, TaskFacts) else of(task) for task in tasks)
    known: dict[str, Any] = {
        "target": "auth",
        "workflow": "feature",
        "plan": Plan(target="auth", branch="ralph/auth", tasks=tuple(one.task for one in facts)),
        "tasks": facts,
        "history": History(runs=runs, attempts=tuple(one for task in facts for one in task.attempts)),
        "spent": AmountSpent(),
        "change": Change(base="b" * 40, commit=COMMIT, files=1, added=2),
        "branch": "ralph/auth",
        "commits": 1,
        "is_merged": False,
        "running": "",
        "at": "now",
    }
    return PlanReport(**{**known, **more})


def of(task: Task, *attempts: AttemptHistory, **more: Any) -> TaskFacts:
    return TaskFacts(task=task, attempts=attempts, spent=AmountSpent(), **more)
