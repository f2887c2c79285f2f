"""An event loop whose clock jumps to the next moment at which something happens: hours pass in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StuckError(Exception):
    """Nothing is left that could ever happen, but the work is not done."""


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: it moves the clock on instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if timeout is None and not found:
            raise StuckError("everybody waits for somebody else")
        self.now += 0.0 if found else max(timeout or 0.0, 0.0)
        return found


class SimulatedLoop(asyncio.SelectorEventLoop):
    """The loop of a simulation that starts no processes and opens no connections."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def simulate(work: Coroutine[Any, Any, T]) -> T:  # Any: nobody sends to it
    """Run a coroutine in simulated time and return its result."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(work)
