"""An agent may ask for a person once in a run, for each task and kind; a real agent step asks here."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.engine.decisions import decide
from ralph.engine.loop import work_through
from ralph.plan.attempt import StepResult
from ralph.plan.decision import TaskDecision
from ralph.plan.model import NeedKind, TaskState
from ralph.plan.work import StepSpec
from ralph.steps.agent import AgentStep
from ralph.steps.base import Context
from tests.conftest import Project
from tests.integration.engine import Engine, engine

pytestmark = pytest.mark.usefixtures("played", "nobody_left")


async def asks(context: Context) -> StepResult:
    return await AgentStep(StepSpec(type="agent")).run(context)


def agent(*says: str) -> dict[str, Any]:
    """An agent that says one line after the other, one in each call, and the last one again and again."""
    lines = "".join(f"{number}) echo '{line}' ;; " for number, line in enumerate(says))
    count = 'n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) > "$0.n"'
    script = f"cat > /dev/null; {count}; case $n in {lines}*) echo '{says[-1]}' ;; esac"
    return {"command": "/bin/sh", "args": ["-c", script]}


BLOCKED, DISPUTE = "<ralph>BLOCKED:no key</ralph>", "<ralph>DISPUTE:false - not about this</ralph>"


def asking(project: Project, *says: str, decides: int, **more: Any) -> list[tuple[NeedKind | None, int]]:
    """What a task needs after each claim and each decision of a person in one run, and how often it has failed."""
    found: list[tuple[NeedKind | None, int]] = []

    async def body(made: Engine) -> None:
        for number in range(decides + 1):
            if number:
                made.run.save(decide(made.run.plan, "US-001", TaskDecision.NOTE, "Try again"))
            await work_through(made.run, made.slots)
            task = made.task()
            assert task.state is TaskState.BLOCKED
            found.append((task.need.kind if task.need else None, task.failures))

    says_in_turn = agent(*says)
    says_in_turn["args"].append(str(project.folder / "agent"))
    engine(project, body, turns={"US-001": [asks]}, provider=says_in_turn, maxRetries=2, **more)
    return found


def test_the_second_time_in_a_run_it_is_a_failed_attempt_like_any_other(person: Project) -> None:
    assert asking(person, BLOCKED, decides=1) == [(NeedKind.BLOCKED, 0), (None, 2)]


def test_each_of_the_two_may_be_said_once(person: Project) -> None:
    found = asking(person, BLOCKED, DISPUTE, decides=2, gate="false")
    assert found == [(NeedKind.BLOCKED, 0), (NeedKind.DISPUTE, 0), (None, 2)]
