"""What needs a person: each thing once, in one order, with the commands that settle it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph.journal.events import RunEnded, RunStarted
from ralph.journal.writer import Journal
from ralph.plan.decision import FITTING
from ralph.plan.model import FinalReview, Need, NeedKind, Plan, SetupState, Spec, Task, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Ending
from ralph.stores import agent_limits, instructions, lock
from ralph.stores.agent_limits import Limit
from ralph.stores.instructions import PausedRun
from ralph.views import inbox
from ralph.workspace import Workspace

RUN = "20260101-000000-00000000"


def task(name: str, **more: Any) -> Task:
    return Task(id=name, title=f"Do {name}", **more)


def blocked(name: str, **more: Any) -> Task:
    return task(name, state=TaskState.BLOCKED, **more)


def kinds(plan: Plan, **more: Any) -> list[tuple[str, str]]:
    return [(item.kind, item.task) for item in inbox.of_plan("auth", plan, "ralph run auth", **more)]


def test_what_waits_for_an_answer_comes_before_what_is_out_of_attempts() -> None:
    plan = Plan(
        target="auth",
        tasks=(
            blocked("a", notes="red\nmore"),
            blocked("b", need=Need(kind=NeedKind.REVIEW, why="green")),
            blocked("c", left_out=True),
            blocked("d", need=Need(kind=NeedKind.CONFLICT, why="It conflicts")),
            task("e"),
        ),
        setup=SetupState(failures=1, notes="no network"),
        review=FinalReview(failures=1, notes="no verdict"),
    )
    assert kinds(plan) == [
        ("review", "b"), ("conflict", "d"), ("out-of-attempts", "a"), ("setup", ""), ("verification", ""),
    ]  # fmt: skip
    first, *_, last = inbox.of_plan("auth", plan, "ralph run auth")
    assert first.answers[0] == "ralph approve auth b"
    assert last.answers == ("ralph retry auth",)
    assert list(inbox.lines([inbox.of_plan("auth", plan, "")[2]])) == [
        "  auth a Do a · blocked: red",
        '    → ralph retry auth a, or --note "…", ralph skip auth a',
    ]


@pytest.mark.parametrize("kind", [kind for kind in NeedKind if kind is not NeedKind.LANDING])
def test_every_need_has_an_answer_and_a_line(kind: NeedKind) -> None:
    (item,) = inbox.of_plan("auth", Plan(target="auth", tasks=(blocked("a", need=Need(kind=kind, why="so")),)), "")
    assert len(item.answers) == len(FITTING[kind]) > 0
    assert item.headline.endswith(": so")
    assert inbox.as_json([item])[0]["kind"] == kind.value


def test_only_a_session_s_roles_try_its_tasks_again() -> None:
    plan = Plan(target="weather", tasks=(blocked("task-1"),))
    (item,) = inbox.of_plan("weather", plan, "ralph run weather", by_roles=True)
    assert item.answers == ("ralph run weather",)


def test_a_spec_that_could_not_be_committed_needs_you() -> None:
    plan = Plan(
        target="specs",
        specs=(Spec(id="a", name="A", failures=3, notes="hook"), Spec(id="b", name="B", failures=1)),
        tasks=(task("a-1", spec="a", state=TaskState.PASSED), task("b-1", spec="b")),
    )
    (item,) = inbox.of_plan("specs", plan, "ralph run specs")
    assert (item.kind, item.headline) == ("commit", "A could not be committed: hook")


def ended(workspace: Workspace, ending: Ending, reason: str) -> None:
    begin: Any = {"run": RUN, "target": "auth", "workflow": "feature", "tasks": 1, "passed": 0, "blocked": 0}
    with Journal(workspace.logs / RUN, target="auth") as journal:
        journal.emit(RunStarted(**begin, version="1", branch="b", slots="s", agent="a", gates=()))
        journal.emit(
            RunEnded(
                **begin, ending=ending, reason=reason, seconds=1.0, attempts=0, verified=False, gates=1, usage=Usage()
            )
        )


@pytest.mark.parametrize(
    ("ending", "kind", "answer"),
    [
        (Ending.STOPPED, "environment", "ralph run auth"),
        (Ending.BUDGET, "budget", "ralph run auth --budget …"),
        (Ending.INTERRUPTED, None, ""),
        (Ending.BLOCKED, "environment", "ralph run auth"),
    ],
)
def test_why_the_last_run_stopped_needs_you_while_something_is_left(
    tmp_path: Path, ending: Ending, kind: str | None, answer: str
) -> None:
    workspace = Workspace(root=tmp_path)
    ended(workspace, ending, "codex is not installed.\nmore")
    plan = Plan(target="auth", tasks=(task("a"),))
    found = inbox.of_run(workspace, "auth", plan, "ralph run auth")
    assert [item.kind for item in found] == ([kind] if kind else [])
    assert [item.answers for item in found] == ([(answer,)] if kind else [])
    stuck = replace(plan, tasks=(*plan.tasks, blocked("b")))
    is_known = ending in (Ending.STOPPED, Ending.BUDGET)
    assert bool(inbox.of_run(workspace, "auth", stuck, "ralph run auth")) == is_known, "its task says why"
    done = replace(plan, tasks=(task("a", state=TaskState.PASSED),))
    assert inbox.of_run(workspace, "auth", done, "ralph run auth") == ()


def test_a_paused_run_needs_you_for_as_long_as_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    workspace, plan = Workspace(root=tmp_path), Plan(target="auth", tasks=(task("a"),))
    with lock.hold(workspace.lock, lock.Owner(pid=os.getpid(), run=RUN, target="auth")):
        assert inbox.of_run(workspace, "auth", plan, "") == ()
        instructions.note_paused(workspace, "auth", PausedRun(run=RUN, since=1.0))
        (item,) = inbox.of_run(workspace, "auth", plan, "")
        assert item.answers == ("ralph resume auth", "ralph stop auth")
        assert inbox.of_run(workspace, "other", plan, "") == ()
        instructions.note_paused(workspace, "auth", PausedRun(run="another", since=1.0))
        assert inbox.of_run(workspace, "auth", plan, "") == ()
    instructions.note_paused(workspace, "auth", PausedRun(run=RUN, since=1.0))
    assert inbox.of_run(workspace, "auth", plan, "") == ()


def test_limits_and_flaky_gates_come_last(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    path = workspace.records / agent_limits.NAME
    agent_limits.write(
        path, [Limit(agent="claude", reason="5-hour limit", until=2000.0), Limit(agent="b", reason="", until=1.0)]
    )
    (limit,) = inbox.of_agents(workspace, "ralph run auth", clock=1000.0)
    assert limit.headline.startswith("claude is limited until ")
    assert limit.answers == ("ralph run auth --try-now",)
    (gate,) = inbox.of_gates([("lint", "The gate lint was flaky 3 times.")])
    waiting = inbox.of_plan("auth", Plan(target="auth", tasks=(blocked("a"),)), "")
    assert [item.kind for item in inbox.in_order((gate, limit, *waiting))] == ["out-of-attempts", "limit", "flaky-gate"]
    assert next(iter(inbox.lines([gate]))) == "  The gate lint was flaky 3 times."
