"""The phases of a request, and which may follow which. Pure."""

from __future__ import annotations

from enum import Enum

from ralph.plan.model import Plan, TaskState


class Phase(Enum):
    """The progress of a request."""

    RESEARCH = "research"  # an agent finds out what must be known
    DECISIONS = "decisions"  # a person decides what only a person can
    PLANNING = "planning"  # an agent writes the PRD and the tasks
    PLANNING_COMPLETE = "planning_complete"  # a person reviews the plan
    EXECUTING = "executing"
    COMPLETED = "completed"
    FAILED = "failed"  # a task ran out of attempts: a person must act before the run continues


FOLLOWING: dict[Phase, tuple[Phase, ...]] = {
    Phase.RESEARCH: (Phase.DECISIONS,),
    Phase.DECISIONS: (Phase.PLANNING,),
    Phase.PLANNING: (Phase.PLANNING_COMPLETE,),
    Phase.PLANNING_COMPLETE: (Phase.EXECUTING, Phase.COMPLETED),  # completed: a person accepted every task
    Phase.EXECUTING: (Phase.COMPLETED, Phase.FAILED),
    Phase.COMPLETED: (Phase.EXECUTING,),  # a person retries a task
    Phase.FAILED: (Phase.EXECUTING, Phase.COMPLETED),
}
"""The only allowed changes."""

NEXT_STEP: dict[Phase, str] = {
    Phase.RESEARCH: "run `ralph plan` to continue",
    Phase.DECISIONS: "run `ralph plan` to answer the open questions",
    Phase.PLANNING: "run `ralph plan` to continue",
    Phase.PLANNING_COMPLETE: "read the plan with `ralph plan --show`, then run `ralph run request`",
    Phase.EXECUTING: "run `ralph run request` to continue",
    Phase.COMPLETED: 'start a new request with `ralph plan "What you want"`',
    Phase.FAILED: "run `ralph run request` to retry the failed task",
}
"""What a person does in each phase."""

UNPLANNED = (Phase.RESEARCH, Phase.DECISIONS, Phase.PLANNING)
"""The phases without tasks."""


def may_follow(now: Phase, to: Phase) -> bool:
    """Whether a request may move from one phase to another; staying is not a change."""
    return now is to or to in FOLLOWING[now]


def reached(plan: Plan, now: Phase) -> Phase:
    """The phase that follows from the tasks' states; unchanged before the first task starts."""
    if now in UNPLANNED:
        return now
    if plan.failure:
        return Phase.FAILED
    if plan.count(TaskState.PASSED) == len(plan.tasks):
        return Phase.COMPLETED
    return now if now is Phase.PLANNING_COMPLETE and not plan.started_at else Phase.EXECUTING
