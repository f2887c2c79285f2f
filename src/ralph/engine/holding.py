"""Holds green work back for a person: with `land: review` nothing lands before somebody has approved it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ralph.plan.model import Need, NeedKind
from ralph.plan.work import Outcome, Verdict, Work, WorkKind, is_approved

if TYPE_CHECKING:
    from ralph.engine.run import Run

REVIEW = "review"
WHY = "Its gates are green. Nothing lands before you have approved it."


def waits_for_person(run: Run, work: Work) -> bool:
    """Return whether some work must be approved before it lands."""
    return run.config.land == REVIEW and work.kind is WorkKind.TASK and work.lands and not is_approved(run.plan, work)


def held(run: Run, work: Work, outcome: Outcome) -> Outcome:
    """Return the outcome of an attempt whose work is green but must not land yet."""
    is_green = outcome.verdict is Verdict.PASSED and bool(outcome.commit)
    if not is_green or not waits_for_person(run, work):
        return outcome
    need = Need(kind=NeedKind.REVIEW, why=WHY, concerns=outcome.concerns)
    return replace(outcome, verdict=Verdict.HELD, reason=WHY, need=need)
