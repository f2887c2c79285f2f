"""The input for prompts, and the claims that an agent makes in a plan file."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.plan.attempt import StepResult
from ralph.plan.model import Plan
from ralph.plan.work import StepSpec, Work


@dataclass(frozen=True, kw_only=True)
class ReviewAssignment:
    """What a reviewer must read, and where its answer goes."""

    answer: str  # the file, relative to the reviewer's folder
    diff: str  # the command that shows the task's work


@dataclass(frozen=True, kw_only=True)
class PromptRequest:
    """What a prompt is needed for."""

    plan: Plan
    work: Work
    step: StepSpec
    number: int
    earlier: tuple[StepResult, ...]
    mistakes: str = ""  # why the last try of this step was not accepted
    review: ReviewAssignment | None = None  # set if the agent is a reviewer


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The text for an agent."""

    text: str
    context: str = ""  # passed as system text if the agent supports it, else prepended to the text


@dataclass(frozen=True, kw_only=True)
class PlanClaims:
    """What an agent claims by its marks in a plan file; claims prove nothing."""

    claims: frozenset[str] = frozenset()
    reason: str = ""
    note: str = ""  # a note for the person
