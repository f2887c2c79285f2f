"""What a prompt is made from, and what an agent claims in a plan file."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.plan.attempt import StepResult
from ralph.plan.model import Plan
from ralph.plan.work import StepSpec, Work


@dataclass(frozen=True, kw_only=True)
class ReviewAssignment:
    """What a reviewer is to look at, and where its answer goes."""

    answer: str  # the file, as the reviewer names it from where it works
    diff: str  # the command that shows the task's work
    mistakes: str = ""  # why its last answer could not be used


@dataclass(frozen=True, kw_only=True)
class PromptRequest:
    """What a prompt is wanted for."""

    plan: Plan
    work: Work
    step: StepSpec
    number: int
    earlier: tuple[StepResult, ...]
    mistakes: str = ""  # why the last try of this very step was not accepted
    review: ReviewAssignment | None = None  # it is a reviewer who is asked


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What an agent is told."""

    text: str
    context: str = ""  # goes in as system text where the agent takes it, else at the head of the text


@dataclass(frozen=True, kw_only=True)
class PlanClaims:
    """What an agent claims by its marks in a plan file; no more than words."""

    claims: frozenset[str] = frozenset()
    reason: str = ""
    note: str = ""  # what a person should know about it
