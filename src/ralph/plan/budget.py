"""What has been spent, and whether a budget is used up. Pure."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from ralph.frozen import Frozen
from ralph.plan.usage import Usage


class SpendingLimits(Protocol):
    """What may be spent; None: any amount."""

    @property
    def usd(self) -> float | None: ...

    @property
    def tokens(self) -> int | None: ...

    @property
    def hours(self) -> float | None: ...

    @property
    def attempts(self) -> int | None: ...


class AmountSpent(Frozen):
    """What attempts have used so far."""

    usage: Usage = field(default_factory=Usage)
    attempts: int = 0
    seconds: float = 0.0

    def __add__(self, other: AmountSpent) -> AmountSpent:
        return AmountSpent(
            usage=self.usage + other.usage,
            attempts=self.attempts + other.attempts,
            seconds=self.seconds + other.seconds,
        )


def used_up(allowed: SpendingLimits, spent: AmountSpent, whose: str) -> str:
    """Return the sentence that says which budget is used up; "" if none is."""
    usage = spent.usage
    if allowed.usd is not None and (usage.cost_usd or 0.0) >= allowed.usd:
        return f"The budget of {whose} is used up: ${usage.cost_usd:.2f} of ${allowed.usd:.2f}."
    if allowed.tokens is not None and usage.tokens >= allowed.tokens:
        return f"The budget of {whose} is used up: {usage.tokens:,} of {allowed.tokens:,} tokens."
    if allowed.hours is not None and spent.seconds >= allowed.hours * 3600:
        return f"The budget of {whose} is used up: {spent.seconds / 3600:.1f} of {allowed.hours:g} hours."
    if allowed.attempts is not None and spent.attempts >= allowed.attempts:
        return f"The budget of {whose} is used up: {spent.attempts} of {allowed.attempts} attempts."
    return ""
