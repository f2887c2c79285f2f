"""The circuit breaker: a step that failed too often in a row is left out for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class BreakerState(Enum):
    CLOSED = "closed"  # all is well
    OPEN = "open"  # left out until the time is over
    HALF_OPEN = "half-open"  # one try decides


@dataclass
class Breaker:
    """Opens after `threshold` failures in a row; after `reset_after` seconds one try is let through."""

    threshold: int
    reset_after: float
    clock: Callable[[], float]
    failures: int = 0
    opened_at: float | None = None

    @property
    def state(self) -> BreakerState:
        if self.opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.HALF_OPEN if self.clock() >= self.opened_at + self.reset_after else BreakerState.OPEN

    @property
    def closes_at(self) -> float | None:
        """When the next try is let through; None: at any time."""
        return None if self.opened_at is None else self.opened_at + self.reset_after

    def allows(self) -> bool:
        return self.state is not BreakerState.OPEN

    def succeeded(self) -> None:
        self.failures, self.opened_at = 0, None

    def failed(self) -> None:
        self.failures += 1
        if self.state is BreakerState.HALF_OPEN or self.failures >= self.threshold:
            self.opened_at = self.clock()
