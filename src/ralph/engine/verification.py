"""Verification: checks a commit out into a copy that no agent writes to, and runs the gates there.

With `verify.where: "slot"` the gates run in the agent's working copy instead, and each of their results says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count as counting
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.checkout.working_copy import WorkingCopy
from ralph.checkout.worktrees import note_use
from ralph.config import IN_PLACE
from ralph.engine.containment import around_gate, around_setup
from ralph.engine.flaky_gates import gate_seconds, propose_quarantine, reruns
from ralph.engine.held_out import laid
from ralph.engine.ui_pages import ui_work
from ralph.git.parse import literal
from ralph.journal.events import Confided, GateEnded, GateRepeated, GateStarted, Noted, ServiceStarted
from ralph.plan.model import Gate, GateResult, Task
from ralph.process.spawn import to_the_end
from ralph.stores import records
from ralph.verify.gates import GateRun, called, describe, gate_environment, run_all
from ralph.verify.held_out import LaidFiles
from ralph.verify.pages import visit_pages
from ralph.verify.services import Services
from ralph.verify.suite import SuiteResult, check

if TYPE_CHECKING:
    from ralph.engine.run import Run

MORE_COPIES = max(4, os.cpu_count() or 1)
"""How many gates of a run may have a copy of their own at once, besides one for each commit."""


def _ignore(_: object) -> None:
    pass


@dataclass
class GateEnvironment:
    """A working copy in which gates run, with its own services."""

    copy: WorkingCopy
    services: Services
    services_temporary: Path
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class ProtectedFilesWatch:
    """Detects changes that gates make to protected files. Gates run the agent's code, which these files judge."""

    copy: WorkingCopy
    globs: tuple[str, ...]
    touched: set[str] = field(default_factory=set)

    async def fresh(self) -> None:
        """Restore the tracked files to the commit before the next gate."""
        await self._check()
        await self.copy.restore()

    async def judge(self, checked: SuiteResult) -> SuiteResult:
        await self._check()
        if not self.touched:
            return checked
        text = f"A gate broke the rules: it changed protected files ({', '.join(sorted(self.touched))})."
        return replace(checked, problem="\n\n".join(filter(None, (text, checked.problem))))

    async def renew(self, run: Run) -> None:
        """Make the copy as it was before its first gate."""
        await self._check()
        await self.copy.clean()
        await self.copy.restore()
        await run.restore_provided(self.copy)

    @asynccontextmanager
    async def other(self, copy: WorkingCopy) -> AsyncIterator[ProtectedFilesWatch]:
        """Yield the watch of another copy of the same files; what is changed there counts here."""
        watch = ProtectedFilesWatch(copy, self.globs, self.touched)
        yield watch
        await watch._check()

    async def _check(self) -> None:
        self.touched.update(await self.copy.altered(self.globs))


@dataclass
class Verifier:
    """The clean copies of a run: one for each parallel attempt, created on first use."""

    run: Run
    count: int
    _free: list[GateEnvironment] = field(default_factory=list)
    _in_slots: dict[Path, GateEnvironment] = field(default_factory=dict)
    _made: int = 0
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _more: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MORE_COPIES))  # for parallel gates
    _services: asyncio.Lock = field(default_factory=asyncio.Lock)  # ports are fixed: one UI check at a time
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.count)

    async def close(self) -> None:
        """Stop all services."""
        await self._stack.aclose()

    async def check(
        self,
        commit: str,
        gates: tuple[Gate, ...],
        label: str,
        *,
        work: str = "",
        attempt: int = 0,
        task: Task | None = None,
        ui: int = -1,
        slot: WorkingCopy | None = None,
        protected: tuple[str, ...] = (),
    ) -> SuiteResult:
        """Run the gates on exactly this commit.

        `ui` is the attempt whose pages are opened; -1 means no UI checks. `slot` is the agent's working copy, for gates
        that run in place. `protected` are files that gates must not change, besides those of the configuration.
        """
        is_in_place = self.run.config.verify.where == IN_PLACE
        protect = (*self.run.config.protect, *map(literal, protected))
        async with self._in_slot(commit, slot) if is_in_place else self.clean_copy(commit) as where:
            watch = ProtectedFilesWatch(where.copy, protect)
            gate_run = self.gate_run(where, label, work, attempt)
            if work:  # before the first attempt, everything that can be known is of use
                fail_fast = self.run.config.verify.fail_fast
                gate_run = replace(gate_run, fail_fast=fail_fast, reruns=partial(reruns, self.run))
            if is_in_place:
                gate_run = replace(gate_run, in_place=True)
            else:
                gate_run = self._in_clean_copy(gate_run, where, watch, commit)
            made = ui_work(self.run, where.services, task, work, ui) if ui >= 0 else None
            if made is None:
                return await watch.judge(await check(gates, gate_run))
            async with self._services_of(where):
                checked = await check(gates, gate_run, made)
            return await watch.judge(checked)

    async def quietly(
        self, commit: str, gates: tuple[Gate, ...], label: str, *, until_red: bool = False
    ) -> tuple[GateResult, ...]:
        """Run gates on a commit that no agent made. They decide nothing about any work, so no event reports them."""
        async with self.clean_copy(commit) as where:
            watch = ProtectedFilesWatch(where.copy, ())
            made = self._in_clean_copy(self.gate_run(where, label), where, watch, commit)
            quiet = replace(made, started=_ignore, ended=_ignore, confide=None, fail_fast=until_red)
            alone = (replace(gate, needs=()) for gate in gates)  # each shows something by itself
            results = await run_all(alone, quiet)
        return tuple(result for result in results if not result.not_run)

    async def screenshots(self, commit: str, task: Task | None, work: str) -> None:
        """Open the pages of UI work at a commit, for screenshots only."""
        async with self.clean_copy(commit) as clean, self._services_of(clean):
            made = ui_work(self.run, clean.services, task, work, 0)
            if made and made.visit:
                await clean.services.prepare()
                await visit_pages(made.visit, clean.services.url)

    @asynccontextmanager
    async def _services_of(self, where: GateEnvironment) -> AsyncIterator[None]:
        """Let only one copy's services be up at a time; they end also if the work drops off the train meanwhile."""
        async with self._services:
            try:
                yield
            finally:
                if self.run.is_parallel:
                    await to_the_end(where.services.end_all())

    def _in_clean_copy(
        self, gate_run: GateRun, where: GateEnvironment, watch: ProtectedFilesWatch, commit: str
    ) -> GateRun:
        return replace(
            gate_run,
            fresh=watch.fresh,
            renew=partial(self._renew, where, watch),
            beside=partial(self._beside, commit, gate_run.label, watch),
            lay=self._layer(where, watch),
            seconds=partial(gate_seconds, self.run),
        )

    async def _renew(self, where: GateEnvironment, watch: ProtectedFilesWatch) -> None:
        """Make everything as it was before the first gate; what a red gate left in its TMPDIR makes no other green."""
        await watch.renew(self.run)
        for path in Path(where.variables["TMPDIR"]).iterdir():
            safe_files.remove_all(path)

    @asynccontextmanager
    async def _beside(self, commit: str, label: str, watch: ProtectedFilesWatch) -> AsyncIterator[GateRun]:
        """Yield where one more gate runs on the same commit at the same time."""
        async with self.clean_copy(commit, self._more) as where, watch.other(where.copy) as own:
            yield self._in_clean_copy(self.gate_run(where, label), where, own, commit)

    @asynccontextmanager
    async def clean_copy(self, commit: str, turns: asyncio.Semaphore | None = None) -> AsyncIterator[GateEnvironment]:
        """Yield a copy with the files of one commit and the files that Ralph provides, nothing else."""
        async with turns or self._turns:
            clean = self._free.pop() if self._free else await self._make_clean()
            try:
                with self.run.temporary() as temporary:
                    await self._prepare(clean, commit, temporary)
                    yield clean
            finally:
                self._free.append(clean)

    @asynccontextmanager
    async def _in_slot(self, commit: str, slot: WorkingCopy | None) -> AsyncIterator[GateEnvironment]:
        """Yield the agent's slot with everything the agent left there; without one, a spare slot with this commit."""
        copy = slot or await self._spare_slot()
        if not await copy.has_files_of(commit):
            await copy.reset(commit)
            await copy.clean(ignored=False)
        if copy.folder not in self._in_slots:
            self._in_slots[copy.folder] = await self._make(copy)
        where = self._in_slots[copy.folder]
        where.copy = copy
        try:
            with self.run.temporary() as temporary:
                self._give(where, await self.run.provide(copy), temporary)
                yield where
        finally:
            if slot is None:
                await copy.restore()
                await copy.clean(ignored=False)

    async def _spare_slot(self) -> WorkingCopy:
        """Return the first slot that does not contain the only copy of an agent's work."""
        taken = {record.slot for record in records.load(self.run.workspace.records) if record.agent_at_work}
        number = next(number for number in counting(1) if number not in taken)
        copy = self.run.working_copy(self.run.workspace.slots / str(number))
        await copy.save_strays()
        return copy

    async def _prepare(self, clean: GateEnvironment, commit: str, temporary: Path) -> None:
        copy = clean.copy
        await copy.reset(commit)
        provided = await self.run.provide(copy)
        if not copy.is_new:
            await copy.clean()
        await self.run.restore_provided(copy)
        self._give(clean, provided, temporary)

    def _give(self, where: GateEnvironment, provided: Mapping[str, str], temporary: Path) -> None:
        """Set the variables of gates and services. Services can outlive a verification and have their own TMPDIR."""
        where.variables = {"TMPDIR": str(temporary), **provided}
        theirs = {**where.variables, "TMPDIR": str(where.services_temporary)}
        where.services.environment = gate_environment(self.run.config, theirs)

    async def _make_clean(self) -> GateEnvironment:
        self._made += 1
        copy = self.run.working_copy(self.run.workspace.clean_copies / str(self._made))
        return await self._make(copy)

    async def _make(self, copy: WorkingCopy) -> GateEnvironment:
        run = self.run
        assert run.branch, "what is verified is on a branch"
        note_use(copy.folder, run.plan.target, run.branch.repo)
        temporary = self._stack.enter_context(run.temporary())
        services = await self._stack.enter_async_context(
            Services(
                services=run.config.services,
                cwd=copy.root,
                logs=run.logs,
                owner=run.id,
                started=lambda service, seconds: run.emit(
                    ServiceStarted(service=service.name, ready=service.ready, seconds=seconds)
                ),
                secrets=run.secrets,
                noted=lambda text: run.emit(Noted(text=text)),
                borrows=False,
                within=around_setup(run, copy.folder, temporary=temporary),
            )
        )
        return GateEnvironment(copy=copy, services=services, services_temporary=temporary)

    def gate_run(self, where: GateEnvironment, label: str, work: str = "", attempt: int = 0) -> GateRun:
        services = where.services
        made = self._gate_run(where.copy, where.variables, label, work, attempt, services.ports)
        return replace(made, ui_variables=services.variables)

    def _layer(
        self, where: GateEnvironment, watch: ProtectedFilesWatch
    ) -> Callable[[Gate], AbstractAsyncContextManager[LaidFiles]]:
        """Return how held-out files get into a clean copy for one gate."""
        return lambda gate: laid(self.run, where.copy, gate, watch.fresh)

    @contextmanager
    def command_run(
        self, copy: WorkingCopy, variables: dict[str, str], label: str, work: str, attempt: int
    ) -> Iterator[GateRun]:
        """Yield the settings for a command step, which runs in the working copy."""
        with self.run.temporary() as temporary:
            yield self._gate_run(copy, {**variables, "TMPDIR": str(temporary)}, label, work, attempt)

    def _gate_run(
        self,
        copy: WorkingCopy,
        variables: dict[str, str],
        label: str,
        work: str,
        attempt: int,
        services: tuple[int, ...] = (),
    ) -> GateRun:
        run = self.run

        def started(gate: Gate) -> None:
            run.emit(GateStarted(work=work, attempt=attempt, gate=gate.name, command=gate.command))

        def repeated(result: GateResult) -> None:
            run.emit(GateRepeated(work=work, attempt=attempt, result=result))

        def ended(result: GateResult) -> None:
            run.emit(GateEnded(work=work, attempt=attempt, result=result))
            if result.flaky:
                propose_quarantine(run, result)

        def confide(result: GateResult) -> None:
            if not result.passed:
                text = f"{called(result)}: {describe(result).splitlines()[0]}\nfor you only: {result.log}"
                run.emit(Confided(work=work, attempt=attempt, text=text))

        return GateRun(
            cwd=copy.root,
            logs=run.logs,
            owner=run.id,
            label=label,
            environment=gate_environment(run.config, variables),
            secrets=run.secrets,
            started=started,
            ended=ended,
            repeated=repeated,
            confide=confide,
            within=around_gate(run, copy.folder, temporary=Path(variables["TMPDIR"]), services=services),
        )
