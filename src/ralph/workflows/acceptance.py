"""Acceptance tests, the same in every workflow: one more step before the agent, and one for what it disputes."""

from __future__ import annotations

from ralph.config import Config
from ralph.plan.work import ASKED_AGAIN, StepSpec
from ralph.workflows.review import with_review

TESTER = StepSpec(type="acceptance-tests", resilience=ASKED_AGAIN)
RULING = StepSpec(type="ruling", resilience=ASKED_AGAIN)


def other_templates(config: Config) -> tuple[str, ...]:
    """The prompts of the agents that test and review a task, if they are on."""
    testing = ("tester", "acceptance-tests", "ruling") if config.acceptance.enabled else ()
    return (*testing, *(("review",) if config.review.enabled else ()))


def with_other_agents(steps: tuple[StepSpec, ...], config: Config) -> tuple[StepSpec, ...]:
    """The steps of a task, with its acceptance tests and its review if they are on."""
    return with_acceptance(with_review(steps, config), config)


def with_acceptance(steps: tuple[StepSpec, ...], config: Config) -> tuple[StepSpec, ...]:
    """The steps of a task, with its acceptance tests before the agent, if they are on.

    If a reviewer sees the work, it also decides about tests that the agent disputes. Those that are held out are left
    to the person, because a review's log is no place for them.
    """
    types = [spec.type for spec in steps]
    if not config.acceptance.enabled:
        return steps
    if {"review", "role"}.intersection(types) and not config.acceptance.held_out:
        after = max(number for number, kind in enumerate(types, 1) if kind in ("agent", "verify"))
        steps = (*steps[:after], RULING, *steps[after:])
    first = types.index("agent") if "agent" in types else 0
    return (*steps[:first], TESTER, *steps[first:])
