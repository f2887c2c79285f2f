"""The merge train: verifies each piece of work together with all that lands before it, and all of them in parallel.

A *car* is one attempt's work on its way to the branch. It is coupled with the branch and every car ahead, and its gates
run on the result while the gates of those ahead still run. If all of them land, exactly the verified tree lands. If one
drops out, those behind it are coupled anew without it and verified again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ralph.frozen import Frozen
from ralph.process.spawn import to_the_end
from ralph.verify.suite import SuiteResult


class Coupling(Frozen):
    """A car's work together with the branch and everything ahead of it."""

    commit: str = ""  # what the gates check out, and what the next car is built on
    base: str = ""  # the same without the car's own work
    is_merged: bool = False  # other code has landed, or is ahead, since its attempt began
    conflict: str = ""  # why there is no such commit


class Arrival(Frozen):
    """What the gates say of a car's work as it would land now."""

    coupling: Coupling
    result: SuiteResult | None = None  # None: it conflicts

    @property
    def is_green(self) -> bool:
        return bool(self.result and not self.result.reason)


Check = Callable[[Coupling], Coroutine[None, None, SuiteResult]]


@dataclass(eq=False)
class Car:
    """One attempt's work on its way to the branch."""

    name: str
    number: int = 0  # of its attempt
    rank: int = 0  # the place of its work in the plan, for when several wait to get on
    base: str = ""  # the commit on which its attempt began
    commit: str = ""
    landed_as: str = ""  # the commit with which it had landed before a kill: it is only judged again
    couplings: int = 0  # how often it was coupled
    coupling: Coupling | None = None  # None: something ahead of it has changed
    ahead: tuple[Car, ...] = ()  # the cars that its coupling contains
    result: SuiteResult | None = None  # of the gates on its coupling, if they were green
    is_out: bool = False  # red or in conflict: nothing is built on it
    has_landed: bool = False


@dataclass(eq=False)
class Train:
    """The cars on their way to one branch, in the order in which they land."""

    tip: Callable[[], Awaitable[str]]
    couple: Callable[[Car, str], Awaitable[Coupling]]  # a car's work on top of a commit
    places: int = 1  # how many cars are verified at once
    coupled: Callable[[Car], object] = lambda _: None  # told of each car whose gates run with others, or again
    cars: list[Car] = field(default_factory=list)
    _waiting: list[Car] = field(default_factory=list)
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    _coupling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _undone: int = 0  # counts the couplings that were undone

    @contextmanager
    def riding(self, car: Car) -> Iterator[Car]:
        """Whatever happens, the car is off the train afterwards."""
        try:
            yield car
        finally:
            self.leave(car)

    async def verify(self, car: Car, commit: str, check: Check) -> Arrival:
        """Get on, and return what is certain: green with all that is ahead, or red or in conflict with what landed."""
        await self._get_on(car, commit)
        while True:
            coupling, result = await self._coupled(car), car.result
            if result is None and not coupling.conflict:
                result = await self._while_coupled(car, coupling, check(coupling))
                if result is None:
                    continue
                self._judge(car, result)
            if await self._is_certain(car, coupling):
                arrival = Arrival(coupling=coupling, result=result)
                if not arrival.is_green:
                    self.leave(car)  # what its attempt still does needs no place
                return arrival

    async def arrive(self, car: Car, commit: str, check: Check) -> Arrival:
        """Verify, and wait until everything ahead has landed: what is green then can land at once."""
        while True:
            arrival = await self.verify(car, commit, check)
            if not arrival.is_green or await self._is_first(car, arrival.coupling):
                return arrival

    def land(self, car: Car) -> None:
        """The car's work has landed as it was verified; those behind it go on."""
        car.has_landed = True
        self.leave(car)

    def leave(self, car: Car) -> None:
        """Take a car off the train; unless its work has landed, those behind it are verified again without it."""
        if car in self.cars:
            if not car.has_landed:
                self._take_out(car)
            self.cars.remove(car)
            car.ahead = ()
            self._tell()

    def uncouple(self, car: Car) -> None:
        """Verify a car and those behind it again: the branch is not what they were coupled with."""
        for one in self.cars[self.cars.index(car) :] if car in self.cars else ():
            one.coupling, one.result, one.is_out, one.ahead = None, None, False, ()
        self._undone += 1
        self._tell()

    async def _get_on(self, car: Car, commit: str) -> None:
        if car in self.cars and car.commit == commit and not car.is_out:
            return
        self.leave(car)
        self._waiting.append(car)
        try:
            await self._until(lambda: len(self.cars) < self.places and min(self._waiting, key=_rank) is car)
        finally:
            self._waiting.remove(car)
            self._tell()
        car.commit, car.coupling, car.result, car.is_out, car.couplings = commit, None, None, False, 0
        self.cars.append(car)

    async def _coupled(self, car: Car) -> Coupling:
        """Couple the cars up to this one, from the first, where something has changed; return this car's coupling."""
        async with self._coupling:
            while car.coupling is None:
                await self._couple_next()
        return car.coupling

    async def _couple_next(self) -> None:
        """Couple the first car that is not; if something ahead of it changes meanwhile, that is to be done again."""
        ahead: list[Car] = []
        for one in self.cars:
            if one.coupling is None:
                break
            if not one.is_out:
                ahead.append(one)
        undone, front = self._undone, ahead[-1].coupling if ahead else None
        coupling = await self.couple(one, front.commit if front else await self.tip())
        if undone != self._undone:
            return
        one.coupling, one.ahead, one.is_out = coupling, tuple(ahead), bool(coupling.conflict)
        one.couplings += 1
        if not coupling.conflict and (one.couplings > 1 or any(not other.has_landed for other in ahead)):
            self.coupled(one)

    async def _while_coupled(
        self, car: Car, coupling: Coupling, check: Coroutine[None, None, SuiteResult]
    ) -> SuiteResult | None:
        """Run the gates; end them at once, and return None, if something ahead of the car drops out."""
        gates = asyncio.ensure_future(check)
        change = asyncio.ensure_future(self._until(lambda: car.coupling is not coupling))
        try:
            await asyncio.wait((gates, change), return_when=asyncio.FIRST_COMPLETED)
            return gates.result() if gates.done() and car.coupling is coupling else None
        finally:
            await to_the_end(_end(gates, change))

    def _judge(self, car: Car, result: SuiteResult) -> None:
        """Take note of what the gates said; nothing is built on a car that is red."""
        if result.reason:
            self._take_out(car)
        else:
            car.result = result
        self._tell()

    async def _is_certain(self, car: Car, coupling: Coupling) -> bool:
        """Wait until all that its result depends on is certain; return False if it must be verified again."""

        def is_certain() -> bool:
            return all(one.has_landed or (not car.is_out and one.result is not None) for one in car.ahead)

        await self._until(lambda: car.coupling is not coupling or is_certain())
        return car.coupling is coupling

    async def _is_first(self, car: Car, coupling: Coupling) -> bool:
        """Wait until everything ahead of a car has landed; return False if it must be verified again."""
        await self._until(lambda: car.coupling is not coupling or all(one.has_landed for one in car.ahead))
        return car.coupling is coupling

    def _take_out(self, car: Car) -> None:
        """Go on without a car: those behind it are coupled with what is ahead of it."""
        behind = self.cars[self.cars.index(car) + 1 :]
        if behind and not car.is_out:
            self.uncouple(behind[0])
        car.is_out = True

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._change.wait()

    def _tell(self) -> None:
        """Have everyone who waits look again."""
        self._change.set()
        self._change = asyncio.Event()


async def _end(*tasks: asyncio.Task[Any]) -> None:  # Any: their results do not matter
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _rank(car: Car) -> int:
    return car.rank
