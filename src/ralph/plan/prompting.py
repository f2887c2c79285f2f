"""The input for prompts, and the claims that an agent makes in a plan file."""

from __future__ import annotations

from ralph.frozen import Frozen
from ralph.plan.attempt import StepResult
from ralph.plan.model import Plan
from ralph.plan.work import StepSpec, Work


class ReviewAssignment(Frozen):
    """What a reviewer must read, and where its answer goes."""

    answer: str  # the file, relative to the reviewer's folder
    diff: str  # the command that shows the task's work


class PromptRequest(Frozen):
    """What a prompt is needed for."""

    plan: Plan
    work: Work
    step: StepSpec
    number: int
    earlier: tuple[StepResult, ...]
    mistakes: str = ""  # why the last try of this step was not accepted
    review: ReviewAssignment | None = None  # set if the agent is a reviewer
    tests: tuple[str, ...] = ()  # the acceptance tests that the agent must make pass


class Prompt(Frozen):
    """The text for an agent."""

    text: str
    context: str = ""  # passed as system text if the agent supports it, else prepended to the text


class PlanClaims(Frozen):
    """What an agent claims by its marks in a plan file; claims prove nothing."""

    claims: frozenset[str] = frozenset()
    reason: str = ""
    note: str = ""  # a note for the person
