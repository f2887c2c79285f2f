"""The answers that a person can give to a task that waits for them."""

from __future__ import annotations

from enum import Enum

from ralph.plan.model import NeedKind


class TaskDecision(Enum):
    """What a person can answer, by the option of `ralph decide`."""

    APPROVE = "--approve"
    GATE_IS_RIGHT = "--gate-is-right"
    SKIP = "--skip"
    NOTE = "--note"


FITTING: dict[NeedKind, tuple[TaskDecision, ...]] = {
    NeedKind.APPROVAL: (TaskDecision.APPROVE, TaskDecision.NOTE),
    NeedKind.REVIEW: (TaskDecision.APPROVE, TaskDecision.NOTE, TaskDecision.SKIP),
    NeedKind.BLOCKED: (TaskDecision.NOTE, TaskDecision.SKIP),
    NeedKind.CONFLICT: (TaskDecision.NOTE, TaskDecision.SKIP),
    NeedKind.DISPUTE: (TaskDecision.GATE_IS_RIGHT, TaskDecision.SKIP, TaskDecision.NOTE),
    NeedKind.RED_BEFORE: (TaskDecision.GATE_IS_RIGHT, TaskDecision.SKIP, TaskDecision.NOTE),
    NeedKind.TESTS: (TaskDecision.NOTE, TaskDecision.SKIP),
    NeedKind.LANDING: (),
}
"""The answers that fit each need, the most likely first."""
