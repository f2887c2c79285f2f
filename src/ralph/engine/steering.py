"""Steering: reads what a person asks of the run while it works, carries each thing out once, and says so."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.engine.interrupt import Interrupt
from ralph.engine.plan_edits import BY_ROLES
from ralph.errors import RalphError
from ralph.journal.events import Steered
from ralph.journal.writer import now
from ralph.plan.instruction import ABOUT_RUN, Acknowledgement, Command, Instruction
from ralph.plan.work import Work, WorkKind
from ralph.stores import crash_file, instructions
from ralph.stores.instructions import PausedRun

if TYPE_CHECKING:
    from ralph.engine.run import Run

LOOK = 0.2
"""Seconds between two looks for instructions; a look that finds none lists one folder."""
LATE = "The running attempt goes on without that; --now would end it, at no cost."


@dataclass
class Steering:
    """What persons have asked of one run, and what follows for the loop and the attempts."""

    run: Run
    is_paused: bool = False  # nothing starts
    stopped: str = ""  # why nothing starts any more, and the run ends
    done: list[str] = field(default_factory=list)  # the instructions that the plan contains
    _holds_steps: bool = False  # paused at once: the attempts stand still before their next step
    _kept: Counter[str] = field(default_factory=Counter)  # work that must not start now
    _under_way: dict[str, tuple[Work, Interrupt]] = field(default_factory=dict)
    _at_work: int = 0  # steps that run now
    _asked: asyncio.Event = field(default_factory=asyncio.Event)  # the loop must look again
    _changed: asyncio.Event = field(default_factory=asyncio.Event)  # an attempt has ended, or may go on
    _folder: Path = field(init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)  # the run ends, so that nothing waits any more

    def __post_init__(self) -> None:
        self._folder = instructions.folder(self.run.workspace, self.run.plan.target)
        self.done += crash_file.done_of(self.run.workspace, self.run.plan.target)

    @property
    def kept(self) -> frozenset[str]:
        """The work that must not start now, because a person is about to change it."""
        return frozenset(+self._kept)

    def begin(self, work: Work) -> Interrupt:
        """Note that attempts at some work begin; return what ends all of them."""
        interrupt = Interrupt(self.run.interrupt)
        self._under_way[work.id] = work, interrupt
        return interrupt

    def end(self, work_id: str) -> None:
        self._under_way.pop(work_id, None)
        self._changed.set()

    async def asked(self) -> None:
        """Wait until a person has asked for something that the loop must know."""
        await self._asked.wait()
        self._asked.clear()

    async def wait(self, seconds: float, interrupt: Interrupt) -> bool:
        """Wait, for a limit or between two tries; return False if a person has ended the wait."""
        return bool(await interrupt.interruptible(self._wait(seconds)))

    async def _wait(self, seconds: float) -> bool:
        over, stopped = asyncio.ensure_future(self.run.sleep(seconds)), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((over, stopped), return_when=asyncio.FIRST_COMPLETED)
            return over.done() and not self.stopped
        finally:
            over.cancel()
            stopped.cancel()

    @asynccontextmanager
    async def step(self, interrupt: Interrupt) -> AsyncIterator[None]:
        """Hold a step back while the run is paused at once; the budget's clock stands still while no step runs."""
        while self._holds_steps and not interrupt.cuts_short:
            await interrupt.interruptible(self._next_change())
        self._at_work += 1
        self._set_clock()
        try:
            yield
        finally:
            self._at_work -= 1
            self._set_clock()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Carry out what is about the run itself, such as a pause, while the context is open."""
        workspace, target = self.run.workspace, self.run.plan.target
        instructions.clear_answers(workspace, target)
        try:
            async with self._reading(lambda one: one.command in ABOUT_RUN):
                yield
        finally:
            instructions.note_paused(workspace, target, None)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Carry out what changes the plan, too, and take over edits of its files; what a killed run has left must be
        settled first."""
        self.run.edits.expect()
        async with self._reading(lambda one: one.command not in ABOUT_RUN, self._take_edits):
            yield

    async def _take_edits(self) -> None:
        """Take over what a person has changed in the plan's files, between two landings."""
        if not (self.run.edits.told or self.run.edits.are_there()):
            return
        from ralph.engine.landing import take_turn

        async with take_turn(self.run):
            edits = self.run.edits.take()
            self.run.secure()
            for edit in edits:
                command = Command.EDIT.value
                self.run.emit(Steered(command=command, text=edit.text, refused=edit.is_refused, instruction=""))
            self._asked.set()
            await self.run.commit_state()

    @property
    def under_way(self) -> frozenset[str]:
        """The work that is attempted now."""
        return frozenset(self._under_way)

    @asynccontextmanager
    async def _reading(
        self, wanted: Callable[[Instruction], bool], also: Callable[[], Awaitable[None]] | None = None
    ) -> AsyncIterator[None]:
        await self._read(wanted)
        over = asyncio.Event()
        reader = asyncio.create_task(self._keep_reading(wanted, also, over))
        try:
            yield
        finally:
            self._under_way.clear()
            self._changed.set()
            over.set()
            await reader  # what it has begun, it finishes

    async def _keep_reading(
        self,
        wanted: Callable[[Instruction], bool],
        also: Callable[[], Awaitable[None]] | None,
        over: asyncio.Event,
    ) -> None:
        while not over.is_set():
            await self._read(wanted)
            if also:
                await also()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK)

    async def _read(self, wanted: Callable[[Instruction], bool]) -> None:
        if not instructions.names(self._folder):
            return
        for instruction in filter(wanted, instructions.waiting(self.run.workspace, self.run.plan.target)):
            try:
                await self._take(instruction)
            except RalphError as error:
                said = Acknowledgement(said=error.what, remedy=error.remedy or "", is_refused=True)
                self._acknowledge(instruction, said)

    async def _take(self, instruction: Instruction) -> None:
        if instruction.id in self.done:
            self._acknowledge(instruction, Acknowledgement(said="Done, before the last run was killed."))
        elif instruction.command in ABOUT_RUN:
            self._acknowledge(instruction, self._about_run(instruction))
        else:
            await self._change(instruction)

    def _acknowledge(self, instruction: Instruction, said: Acknowledgement) -> None:
        """Say in the journal and to the person what became of an instruction; after that, it is gone."""
        self.run.emit(
            Steered(
                command=instruction.command.value,
                tasks=instruction.tasks,
                now=instruction.now,
                text=said.said,
                note=instruction.text,
                by=instruction.by,
                refused=said.is_refused,
                instruction=instruction.id,
            )
        )
        instructions.answer(self.run.workspace, instruction, said)
        self._asked.set()

    def _about_run(self, instruction: Instruction) -> Acknowledgement:
        run = self.run
        if instruction.run != run.id:
            raise RalphError(f"The run that was asked to {instruction.command.value} has ended.")
        match instruction.command:
            case Command.PAUSE:
                text = self._pause(at_once=instruction.now)
            case Command.RESUME if not self.is_paused:
                raise RalphError(f"The run of {run.plan.target} is not paused.")
            case Command.RESUME:
                text = "The run goes on."
                self._go_on()
            case _:
                text = self._stop(at_once=instruction.now)
        return Acknowledgement(said=text)

    def _pause(self, *, at_once: bool) -> str:
        self.is_paused, self._holds_steps = True, at_once
        paused = PausedRun(run=self.run.id, since=self.run.clock(), now=at_once)
        instructions.note_paused(self.run.workspace, self.run.plan.target, paused)
        self._set_clock()
        if at_once and self._under_way:
            return f"Paused: nothing goes on after the running step of {_names(self._under_way)}."
        if self._under_way:
            return f"Paused: nothing starts after {_names(self._under_way)}."
        return "Paused: nothing starts."

    def _go_on(self) -> None:
        self.is_paused = self._holds_steps = False
        instructions.note_paused(self.run.workspace, self.run.plan.target, None)
        self._set_clock()
        self._changed.set()

    def _stop(self, *, at_once: bool) -> str:
        self.stopped = "A person stopped the run."
        self._stopping.set()
        self._go_on()
        if at_once:
            if not self.run.interrupt.requested:
                self.run.interrupt.request()
            return "The run stops now. What its attempts have made is kept."
        return f"The run ends after {_names(self._under_way)}." if self._under_way else "The run ends."

    async def _change(self, instruction: Instruction) -> None:
        """Change the plan between two landings, after the attempts that the change would make worthless."""
        from ralph.engine.instructions import carry_out
        from ralph.engine.landing import take_turn

        run = self.run
        assert run.branch, "only runs with a branch are steered"
        stands_on = await run.branch.tip()
        carry_out(run.plan, instruction, run.config, at=now(), stands_on=stands_on)  # or it says why not
        ending = {name for name, (work, _) in self._under_way.items() if self._ends(instruction, work)}
        keeping = Counter({*instruction.tasks, *ending})
        self._kept += keeping
        try:
            await self._end_attempts(instruction)
            async with take_turn(run):
                stands_on = await run.branch.tip()
                carried = carry_out(run.plan, instruction, run.config, at=now(), stands_on=stands_on)
                said = carried.said
                if instruction.command in (Command.NOTE, Command.EDIT) and self._under_way.keys() & instruction.tasks:
                    said = replace(said, said=f"{said.said} {LATE}")
                run.save(carried.plan)
                self.done.append(instruction.id)
                run.secure()  # from now on it is done, whatever happens
                self._acknowledge(instruction, said)
                await run.commit_state()
        finally:
            self._kept -= keeping
            self._asked.set()

    def _ends(self, instruction: Instruction, work: Work) -> bool:
        """Return whether work must end: it is at a task that is meant, or judges tasks as they were."""
        if self.run.workflow.name == BY_ROLES:
            return True  # a role's contract would take the person's change for its own
        if work.kind is WorkKind.TASK:
            return instruction.ends_attempts_at(work.id)
        if instruction.command is Command.NOTE or work.kind is WorkKind.SETUP:
            return False
        tasks = (self.run.plan.find(name) for name in instruction.tasks)
        return work.kind is WorkKind.REVIEW or any(task and task.spec == work.id for task in tasks)

    async def _end_attempts(self, instruction: Instruction) -> None:
        why = f"A person ended this attempt ({instruction.command.value})."
        while ending := [way for work, way in self._under_way.values() if self._ends(instruction, work)]:
            for interrupt in ending:
                interrupt.halt(why)
            await self._next_change()

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    @property
    def stands_still(self) -> bool:
        """Whether the run is paused and no step is running."""
        return self.is_paused and not self._at_work

    def _set_clock(self) -> None:
        self.run.spending.stand_still(self.stands_still)


def _names(under_way: dict[str, tuple[Work, Interrupt]]) -> str:
    *others, last = sorted(under_way)
    return f"{', '.join(others)} and {last}" if others else last
