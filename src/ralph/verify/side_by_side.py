"""Runs gates as their schedule says: some one after another, others at the same time in copies of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from ralph.process.spawn import to_the_end
from ralph.verify.schedule import Schedule

RunGate = Callable[[int], Awaitable[None]]


class SideBySide:
    """A round of gates. It ends when all have ended, or at once when the schedule is stopped."""

    def __init__(
        self, in_line: RunGate, beside: Callable[[], AbstractAsyncContextManager[RunGate]] | None, schedule: Schedule
    ) -> None:
        self._in_line, self._other_copy, self._schedule = in_line, beside, schedule
        self._line: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._coming: set[asyncio.Task[None]] = set()  # those of them that wait for a copy

    async def run(self) -> None:
        try:
            while self._begin() and not self._is_over:
                done, self._tasks = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                self._coming -= done
                for task in done:
                    task.result()
        finally:
            await to_the_end(self._end_all())

    def _begin(self) -> bool:
        """Start all that can start; return whether anything is at work."""
        if self._line is None or self._line.done():
            place = self._schedule.take_in_line()
            if place is not None:
                self._line = asyncio.ensure_future(self._in_line(place))
                self._tasks.add(self._line)
        while self._other_copy and len(self._coming) < len(self._schedule.ready_beside):
            task = asyncio.create_task(self._beside(self._other_copy))
            self._tasks.add(task)
            self._coming.add(task)
        return bool(self._tasks)

    @property
    def _is_over(self) -> bool:
        """A copy whose gate has ended is still looked through; one that no gate needs any more is not waited for."""
        return bool(self._schedule.stopped) or (self._schedule.is_over and self._tasks <= self._coming)

    async def _beside(self, other_copy: Callable[[], AbstractAsyncContextManager[RunGate]]) -> None:
        async with other_copy() as run:
            self._coming.difference_update([asyncio.current_task()])
            place = self._schedule.take_beside()  # others may have taken all meanwhile
            if place is not None:
                await run(place)

    async def _end_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
