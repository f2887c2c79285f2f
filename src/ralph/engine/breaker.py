"""The circuit breaker: skips a step for a while after it failed too often in a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class BreakerState(Enum):
    CLOSED = "closed"  # steps run
    OPEN = "open"  # steps are skipped until `reset_after` has passed
    HALF_OPEN = "half-open"  # the next try decides


@dataclass
class Breaker:
    """Opens after `threshold` failures in a row; after `reset_after` seconds it allows one try."""

    threshold: int
    reset_after: float
    clock: Callable[[], float]
    failures: int = 0
    opened_at: float | None = None

    @property
    def state(self) -> BreakerState:
        if self.opened_at is None:
            return BreakerState.CLOSED
        # A clock that shows less than `opened_at` was set back: one try does less harm than a wait of days.
        is_open = self.opened_at <= self.clock() < self.opened_at + self.reset_after
        return BreakerState.OPEN if is_open else BreakerState.HALF_OPEN

    @property
    def closes_at(self) -> float | None:
        """Return when the next try is allowed; None if it is allowed now."""
        return None if self.opened_at is None else self.opened_at + self.reset_after

    def allows(self) -> bool:
        return self.state is not BreakerState.OPEN

    def succeeded(self) -> None:
        self.failures, self.opened_at = 0, None

    def failed(self) -> None:
        self.failures += 1
        if self.state is BreakerState.HALF_OPEN or self.failures >= self.threshold:
            self.opened_at = self.clock()
