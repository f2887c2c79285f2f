"""Phases of a request: which may follow which, and where a plan stands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.errors import RalphError
from ralph.plan.model import Failure, Plan, Task, TaskState
from ralph.plan.select import waves
from ralph.workflows.request.phases import FOLLOWING, NEXT_STEP, UNPLANNED, Phase, may_follow, reached
from ralph.workflows.request.store import moved

PLAN = Plan(target="request", tasks=(Task(id="a", title="A"), Task(id="b", title="B", depends_on=("a",))))


def test_every_phase_has_what_follows_and_what_a_person_does() -> None:
    assert set(FOLLOWING) == set(NEXT_STEP) == set(Phase)
    assert all(may_follow(phase, phase) for phase in Phase)


def test_an_illegal_change_says_what_is_legal_now() -> None:
    with pytest.raises(RalphError, match=r"The next phase can be planning, not 'executing'\.") as found:
        moved(Phase.DECISIONS, Phase.EXECUTING)
    assert found.value.remedy == "Run `ralph plan` to answer the open questions."
    assert moved(Phase.FAILED, Phase.EXECUTING) is Phase.EXECUTING


def test_where_a_plan_stands_follows_from_its_tasks() -> None:
    begun = replace(PLAN, started_at="then")
    failed = replace(begun, failure=Failure(task="a", title="A", message="m", at="then"))
    done = replace(begun, tasks=tuple(replace(task, state=TaskState.PASSED) for task in PLAN))
    assert [reached(plan, Phase.PLANNING_COMPLETE) for plan in (PLAN, begun, done)] == [
        Phase.PLANNING_COMPLETE,
        Phase.EXECUTING,
        Phase.COMPLETED,
    ]
    assert reached(failed, Phase.EXECUTING) is Phase.FAILED
    assert reached(begun, Phase.COMPLETED) is Phase.EXECUTING, "a task is to be done again"
    assert [reached(Plan(target="request"), phase) for phase in UNPLANNED] == list(UNPLANNED)


def test_tasks_that_need_one_another_are_in_different_waves() -> None:
    tasks = {"a": (), "b": ("a",), "c": (), "d": ("b", "c"), "e": ("c",)}
    plan = Plan(target="t", tasks=tuple(Task(id=name, title=name, depends_on=needs) for name, needs in tasks.items()))
    assert [[task.id for task in wave] for wave in waves(plan)] == [["a", "c"], ["b", "e"], ["d"]]
    assert waves(Plan(target="t")) == []
