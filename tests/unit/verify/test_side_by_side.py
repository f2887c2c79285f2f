"""Gates side by side: every copy is left in order, nothing is waited for in vain, and an error ends all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from ralph.plan.model import Gate
from ralph.verify.schedule import Schedule
from ralph.verify.side_by_side import RunGate, SideBySide

NAMES = ("a", "b", "c")


class Copies:
    """Copies that take their time to be made and to be left, and gates that do what a test says."""

    def __init__(self, gate: Callable[[str], Awaitable[None]], *, places: int = 9) -> None:
        gates = [Gate(name=name, command=name, timeout=1, parallel=True) for name in NAMES]
        self.schedule = Schedule(gates, beside=True)
        self.places = asyncio.Semaphore(places)
        self.ran: list[str] = []
        self.left = 0
        self._gate = gate

    async def run(self) -> None:
        async with asyncio.timeout(10):
            await SideBySide(self._run, self._beside, self.schedule).run()

    async def _run(self, place: int) -> None:
        await self._gate(NAMES[place])
        self.ran.append(NAMES[place])
        self.schedule.finish(place, green=True)

    @asynccontextmanager
    async def _beside(self) -> AsyncIterator[RunGate]:
        async with self.places:
            yield self._run
            for _ in range(5):  # its files are looked through
                await asyncio.sleep(0)
            self.left += 1


def test_every_copy_is_looked_through_before_the_round_ends() -> None:
    together = asyncio.Barrier(3)

    async def gate(_: str) -> None:
        await together.wait()

    async def main() -> None:
        copies = Copies(gate)
        await copies.run()
        assert sorted(copies.ran) == ["a", "b", "c"]
        assert copies.left == 2, "the third gate ran in the first copy"

    asyncio.run(main())


def test_a_copy_that_nobody_needs_any_more_is_not_waited_for() -> None:
    async def gate(_: str) -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        copies = Copies(gate, places=0)
        await copies.run()
        assert copies.ran == ["a", "b", "c"]

    asyncio.run(main())


def test_an_error_of_one_gate_ends_the_others_and_is_told() -> None:
    ended: list[str] = []

    async def gate(name: str) -> None:
        if name == "b":
            raise OSError("no space left")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)

    async def main() -> None:
        with pytest.raises(OSError, match="no space left"):
            await Copies(gate).run()
        assert sorted(ended) == ["a", "c"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
