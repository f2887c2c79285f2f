"""One more step after the gates, in whichever workflow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph.config import Config, parse
from ralph.engine.settle import Policy
from ralph.plan.model import Severity
from ralph.plan.work import StepSpec
from ralph.steps import pipeline
from ralph.workflows.feature import workflow as feature
from ralph.workflows.request import workflow as request
from ralph.workflows.review import reviewed, with_review, with_rounds
from ralph.workflows.specs import workflow as specs


def config(**more: Any) -> Config:
    return parse(json.dumps({"provider": {"command": "x"}, "verify": {"default": []}, **more}).encode())


def labels(steps: tuple[StepSpec, ...]) -> list[str]:
    return [step.label for step in steps]


@pytest.mark.parametrize("steps", [feature.STORY_STEPS, request.STEPS, specs.TASK_STEPS])
def test_it_comes_after_the_hooks_and_the_gates(steps: tuple[StepSpec, ...]) -> None:
    made = labels(with_review(steps, config(review={})))
    assert made == [*labels(steps), "review"]
    assert with_review(steps, config()) == steps, "off unless it is wanted"
    assert with_review(steps, config(review={"enabled": False})) == steps


def made(*steps: dict[str, Any]) -> pipeline.Pipeline:
    return pipeline.parse(json.dumps({"steps": list(steps)}).encode(), name="p.json", variables={})


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([{"type": "agent"}], ["agent", "verify", "review", "git-commit"]),
        (
            [{"type": "agent"}, {"type": "verify"}, {"type": "noop"}],
            ["agent", "verify", "review", "noop", "git-commit"],
        ),
        ([{"type": "agent"}, {"type": "verify", "enabled": False}], ["agent", "review", "git-commit"]),
        ([{"type": "agent"}, {"type": "review", "name": "look"}], ["agent", "verify", "look", "git-commit"]),
        ([{"type": "agent"}, {"type": "review", "enabled": False}], ["agent", "verify", "git-commit"]),
    ],
)
def test_a_pipelines_own_word_comes_first(steps: list[dict[str, Any]], expected: list[str]) -> None:
    once = reviewed(made(*steps), config(review={}))
    assert labels(once.each) == expected
    assert reviewed(once, config(review={})) == once
    assert reviewed(made(*steps), config()) == made(*steps)


def test_what_a_person_decided_about_rounds_is_the_policys() -> None:
    policy = with_rounds(Policy(max_failures=7), config(review={"rounds": 5, "blocking": ["critical"]}))
    assert (policy.max_failures, policy.max_rounds, policy.blocking) == (7, 5, frozenset({Severity.CRITICAL}))
    assert with_rounds(Policy(), config()) == Policy()
