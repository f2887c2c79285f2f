"""Tasks side by side: each in a slot of its own, landing one by one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ralph.loop.loop import attempt, begin, stop, wait
from ralph.loop.run import Run
from ralph.loop.slots import Slots
from ralph.plan.work import Ending, Finished, Kind, Outcome, Verdict, Work


async def work_side_by_side(run: Run, slots: Slots, *, once: bool = False) -> Finished:
    """As many attempts at a time as there are slots, until nothing is left to do or somebody says stop."""
    crew = _Crew(run, slots)
    waits = 0
    end: Finished | None = None
    async with asyncio.TaskGroup() as group:
        while True:
            following = end or crew.begin_all(group)
            if not crew.running:
                if isinstance(following, Finished):
                    return following
                assert isinstance(following, Work), "with nothing under way there is something to do"
                outcome = await attempt(run, run.home, following, await begin(run, run.home, following))
            else:
                outcome = await crew.next_ended()
            end = end or stop(outcome, once)
            waits = waits + 1 if outcome.verdict is Verdict.LIMITED else 0
            if waits and not end and not await wait(run, outcome, waits):
                end = Finished(ending=Ending.LIMITED, reason=outcome.reason)


@dataclass
class _Crew:
    """The attempts that are under way."""

    run: Run
    slots: Slots
    running: dict[asyncio.Task[Outcome], str] = field(default_factory=dict)

    def begin_all(self, group: asyncio.TaskGroup) -> Work | Finished | None:
        """Begin what can begin; returns what cannot be done side by side, or that nothing is left."""
        while True:
            following = self.run.workflow.next(self.run.plan, frozenset(self.running.values()))
            if self.run.interrupt.requested:
                return Finished(ending=Ending.INTERRUPTED)
            if not isinstance(following, Work) or following.kind is not Kind.TASK:
                return following if isinstance(following, Work | Finished) else None
            slot = self.slots.take()
            if slot is None:
                return None
            self.running[group.create_task(self._in_slot(slot, following))] = following.id

    async def next_ended(self) -> Outcome:
        done, _ = await asyncio.wait(self.running, return_when=asyncio.FIRST_COMPLETED)
        task = done.pop()
        del self.running[task]
        return task.result()

    async def _in_slot(self, number: int, work: Work) -> Outcome:
        try:
            site = await self.slots.prepare(number, work)
            return await attempt(self.run, site, work, await begin(self.run, site, work))
        finally:
            self.slots.give_back(number)
