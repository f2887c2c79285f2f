"""Tasks side by side: each in a slot of its own, landing one by one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ralph.loop.loop import attempt, begin, stop, wait
from ralph.loop.run import Run
from ralph.loop.slots import Slots
from ralph.plan.work import Ending, Finished, Kind, Outcome, Verdict, Work


async def work_side_by_side(run: Run, slots: Slots, *, once: bool = False, abrupt: bool = False) -> Finished:
    """As many attempts at a time as there are slots, until nothing is left to do or somebody says stop.

    `abrupt`: when the plan halts, attempts that are under way are ended; else they come to their own end.
    """
    try:
        async with asyncio.TaskGroup() as group:
            crew = _Crew(run, slots, most=1 if once else slots.count)
            return await _work(crew, group, once=once, abrupt=abrupt)
    except BaseExceptionGroup as several:
        raise _first(several) from None


def _first(error: BaseException) -> BaseException:
    """What broke first: the others were stopped because of it."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _work(crew: _Crew, group: asyncio.TaskGroup, *, once: bool, abrupt: bool) -> Finished:
    run, waits = crew.run, 0
    end: Finished | None = None
    while True:
        following = end or crew.begin_all(group)
        if crew.running:
            outcome, pauses = await crew.next_ended()
        elif isinstance(following, Work):
            outcome, pauses = (
                await attempt(run, run.home, following, await begin(run, run.home, following)),
                crew.pauses,
            )
        else:
            assert following is not None, "with nothing under way there is something to do"
            return following
        end = end or crew.halt(abrupt) or stop(outcome, once)
        if outcome.verdict is not Verdict.LIMITED:
            waits = 0
        elif not end and pauses == crew.pauses:  # one that began before the last pause met the same limit
            waits, crew.pauses = waits + 1, crew.pauses + 1
            if not await wait(run, outcome, waits):
                end = Finished(ending=Ending.LIMITED, reason=outcome.reason)


@dataclass
class _Crew:
    """The attempts that are under way."""

    run: Run
    slots: Slots
    most: int
    pauses: int = 0  # how often everybody has waited for a limit
    running: dict[asyncio.Task[Outcome], tuple[str, int]] = field(default_factory=dict)  # what, and after which pause

    def begin_all(self, group: asyncio.TaskGroup) -> Work | Finished | None:
        """Begin what can begin; returns what cannot be done side by side, or that nothing is left."""
        while True:
            following = self.run.workflow.next(self.run.plan, frozenset(name for name, _ in self.running.values()))
            if self.run.interrupt.requested:
                return Finished(ending=Ending.INTERRUPTED)
            if not isinstance(following, Work) or following.kind is not Kind.TASK:
                return following if isinstance(following, Work | Finished) else None
            slot = self.slots.take() if len(self.running) < self.most else None
            if slot is None:
                return None
            self.running[group.create_task(self._in_slot(slot, following))] = following.id, self.pauses

    def halt(self, abrupt: bool) -> Finished | None:
        """Why nothing more is begun, if the plan has halted."""
        following = self.run.workflow.next(self.run.plan) if self.run.plan.failure else None
        if not isinstance(following, Finished):
            return None
        if abrupt:
            self.run.interrupt.halt()
        return following

    async def next_ended(self) -> tuple[Outcome, int]:
        done, _ = await asyncio.wait(self.running, return_when=asyncio.FIRST_COMPLETED)
        task = done.pop()
        _, pauses = self.running.pop(task)
        return task.result(), pauses

    async def _in_slot(self, number: int, work: Work) -> Outcome:
        try:
            site = await self.slots.prepare(number, work)
            return await attempt(self.run, site, work, await begin(self.run, site, work))
        finally:
            self.slots.give_back(number)
