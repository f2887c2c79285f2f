"""Reviews, the same in every workflow: one more step after the gates, and its prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import prompts
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.plan.model import GateResult, Severity
from ralph.plan.prompting import PromptRequest
from ralph.plan.work import ASKED_AGAIN, StepSpec
from ralph.workflows.prompt_text import bullets, criteria

if TYPE_CHECKING:
    from ralph.steps.pipeline import Pipeline

TEMPLATE = "review"


def with_review(steps: tuple[StepSpec, ...], config: Config) -> tuple[StepSpec, ...]:
    """The steps of a task, with a review after its gates if reviews are on and there is none yet."""
    if not config.review.enabled or any(spec.type == "review" for spec in steps):
        return steps
    from ralph.steps.agent_settings import CallSettings  # a plan without reviews needs no step to say what is next

    review = StepSpec(type="review", resilience=ASKED_AGAIN, settings=CallSettings())
    after = max(number for number, spec in enumerate(steps, 1) if spec.type in ("agent", "verify"))
    return (*steps[:after], review, *steps[after:])


def reviewed(pipeline: Pipeline, config: Config) -> Pipeline:
    """The pipeline with a review, unless it has its own or turns reviews off."""
    return pipeline if pipeline.declines_review else replace(pipeline, each=with_review(pipeline.each, config))


def with_rounds(policy: Policy, config: Config) -> Policy:
    """The same policy with the configured review settings."""
    blocking = frozenset(map(Severity, config.review.blocking))
    return replace(policy, max_rounds=config.review.rounds, blocking=blocking)


def review_prompt(
    occasion: PromptRequest, config: Config, project: Path, *, about: str = "", learnings: str = ""
) -> str:
    """A reviewer's prompt; `about`: what the task belongs to, in the workflow's words."""
    from ralph.steps.agent_settings import CallSettings

    task, asked, settings = occasion.plan.find(occasion.work.id), occasion.review, occasion.step.settings
    assert task is not None and asked is not None, "only tasks are reviewed, and a reviewer was asked"
    gates = [gate for result in occasion.earlier for gate in result.gates]
    variables = {
        "about": about,
        "taskId": task.id,
        "taskTitle": " ".join(task.title.split()),
        "taskDescription": task.description,
        "acceptanceCriteria": criteria(task.criteria),
        "attempt": occasion.number,
        "verifyCommands": bullets(map(_said, gates)) or "- (none are configured)",
        "diffCommand": asked.diff,
        "concerns": bullets(text for result in occasion.earlier for text in result.concerns),
        "lastFindings": bullets(map(str, task.findings)) if task.rounds else "",
        "learnings": learnings,
        "blocking": " or ".join(config.review.blocking),
        "answerFile": asked.answer,
        "mistakes": occasion.mistakes,
    }
    file = settings.prompt_file if isinstance(settings, CallSettings) else None
    return prompts.render(TEMPLATE, variables, project, file=file)


def _said(gate: GateResult) -> str:
    if gate.not_run:
        return f"`{gate.command}`: {gate.how_missed}, but is optional: {gate.reason}"
    passed = f"passed, but is {gate.reason}" if gate.flaky else "passed"
    return f"`{gate.command}`: {passed if gate.passed else 'failed, but is optional'}"
