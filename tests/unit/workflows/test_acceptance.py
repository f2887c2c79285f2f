"""A step before the agent, in whichever workflow, and one for what it disputes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph.config import Config, parse
from ralph.plan.acceptance_tests import ABOUT_TESTS, wish_of
from ralph.plan.model import Plan, Spec, Task
from ralph.plan.work import StepSpec
from ralph.workflows.acceptance import with_acceptance, with_other_agents
from ralph.workflows.feature import workflow as feature
from ralph.workflows.request import workflow as request
from ralph.workflows.specs import workflow as specs


def config(**more: Any) -> Config:
    return parse(json.dumps({"provider": {"command": "x"}, "verify": {"default": ["test"]}, **more}).encode())


def labels(*steps: StepSpec) -> list[str]:
    return [step.label for step in steps]


@pytest.mark.parametrize("steps", [feature.STORY_STEPS, request.STEPS, specs.TASK_STEPS])
def test_the_tester_comes_before_the_agent_and_the_reviewer_rules_after_the_gates(steps: tuple[StepSpec, ...]) -> None:
    tester = ["acceptance-tests", *labels(*steps)]
    assert with_other_agents(steps, config()) == steps
    assert labels(*with_other_agents(steps, config(acceptance={}))) == tester
    both = with_other_agents(steps, config(acceptance={}, review={}))
    assert labels(*both) == [*tester, "ruling", "review"]
    hidden = with_other_agents(steps, config(acceptance={"heldOut": True}, review={}))
    assert labels(*hidden) == [*tester, "review"], "no review's log has what is held out"


def test_what_comes_before_the_agent_stays_there() -> None:
    assert labels(*with_acceptance(feature.UI_STEPS, config(acceptance={})))[:3] == [
        "screenshot",
        "acceptance-tests",
        "agent",
    ]


TASK = Task(id="a", title="A", criteria=("It works",), spec="s")
PLAN = Plan(target="t", tasks=(TASK,), specs=(Spec(id="s", name="S", criteria=("All works",)),))


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ({"title": "B"}, True),
        ({"description": "more"}, True),
        ({"criteria": ("It works", "twice")}, True),
        ({"decisions": (f"{ABOUT_TESTS}it says 3",)}, True),
        ({"decisions": ("The gate `lint` is right.",)}, False),
        ({"failures": 2, "notes": "n", "tried": ("t",)}, False),
    ],
)
def test_new_tests_are_written_when_what_a_tester_reads_has_changed(more: dict[str, Any], changes: bool) -> None:
    other = Task(**{**vars(TASK), **more})
    assert (wish_of(PLAN, TASK) != wish_of(PLAN, other)) is changes
    without = Plan(target="t", tasks=(TASK,), specs=(Spec(id="s", name="S"),))
    assert wish_of(PLAN, TASK) != wish_of(without, TASK)
