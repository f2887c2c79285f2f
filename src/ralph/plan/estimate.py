"""What the rest of a plan will probably take, from what earlier tasks of the same project took. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ralph.frozen import Frozen
from ralph.plan.budget import AmountSpent

FEWEST = 3
"""With fewer tasks that passed, there is no basis."""


class Estimate(Frozen):
    """A guess, and its basis."""

    seconds: float
    usd: float | None  # None: not every task's cost is known
    tokens: int
    tasks: int  # how many are left
    basis: int  # how many passed


def estimate(passed: Sequence[AmountSpent], waves: Sequence[int], jobs: int) -> Estimate | None:
    """Return what tasks in these waves will take with so many at once; None if too few have passed before."""
    if len(passed) < FEWEST or not sum(waves):
        return None
    left = sum(waves)
    rounds = sum(math.ceil(count / jobs) for count in waves) if jobs > 1 else left
    costs = [spent.usage.cost_usd for spent in passed if not spent.usage.unpriced]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        seconds=median(spent.seconds for spent in passed) * rounds,
        usd=sum(known) / len(known) * left if len(known) == len(passed) else None,
        tokens=round(sum(spent.usage.tokens for spent in passed) / len(passed) * left),
        tasks=left,
        basis=len(passed),
    )
