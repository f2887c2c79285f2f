"""Verification: a commit is checked out into a copy that no agent ever writes to, and the gates run there."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.checkout.working_copy import WorkingCopy
from ralph.journal.events import GateEnded, GateStarted, Noted, ServiceStarted
from ralph.plan.model import Task
from ralph.verify.gates import Bench, Gate, gate_environment
from ralph.verify.pages import look_at
from ralph.verify.services import Services
from ralph.verify.suite import Checked, check

if TYPE_CHECKING:
    from ralph.loop.run import Run

IN_PLACE = "slot"
"""`verify.where`: the gates run in the agent's own working copy, and every view says so."""


@dataclass
class CleanCopy:
    """A working copy for gates, with services of its own."""

    copy: WorkingCopy
    services: Services
    scratch: Path
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class Watch:
    """Notices what gates do to protected files: an agent's code runs in them, and these files are to judge it."""

    copy: WorkingCopy
    globs: tuple[str, ...]
    touched: set[str] = field(default_factory=set)

    async def fresh(self) -> None:
        """Before the next gate, tracked files are as the commit has them."""
        await self._look()
        await self.copy.restore()

    async def judge(self, checked: Checked) -> Checked:
        await self._look()
        if not self.touched:
            return checked
        text = f"A gate did what it must not: it changed protected files ({', '.join(sorted(self.touched))})."
        return replace(checked, problem="\n\n".join(filter(None, (text, checked.problem))))

    async def _look(self) -> None:
        self.touched.update(await self.copy.altered(self.globs))


@dataclass
class Verifier:
    """The clean copies of a run: as many as attempts are made at the same time, made when they are first needed."""

    run: Run
    count: int
    _free: list[CleanCopy] = field(default_factory=list)
    _made: int = 0
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _services: asyncio.Lock = field(default_factory=asyncio.Lock)  # fixed ports: one UI check at a time
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.count)

    async def __aenter__(self) -> Verifier:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def check(
        self,
        commit: str,
        gates: tuple[Gate, ...],
        label: str,
        *,
        work: str = "",
        task: Task | None = None,
        ui: int = -1,
    ) -> Checked:
        """What the gates say of exactly this commit; `ui`: the attempt whose pages are looked at, -1: no UI checks."""
        async with self.clean_copy(commit) as clean:
            watch = Watch(clean.copy, self.run.config.protect)
            bench = replace(self.bench(clean, label, work), fresh=watch.fresh)
            made = self.run.ui_work(clean.services, task, work, ui) if ui >= 0 else None
            if made is None:
                return await watch.judge(await check(gates, bench))
            async with self._services:
                checked = await check(gates, bench, made)
                if self.count > 1:
                    await clean.services.end_all()
                return await watch.judge(checked)

    async def check_in_place(
        self, copy: WorkingCopy, variables: dict[str, str], gates: tuple[Gate, ...], label: str, *, work: str
    ) -> Checked:
        """For `verify.where: "slot"`: what the gates say where the agent worked."""
        bench = self.bench_in_slot(copy, variables, label, work)
        return await Watch(copy, self.run.config.protect).judge(await check(gates, bench))

    async def screenshots(self, commit: str, task: Task | None, work: str) -> None:
        """Open the pages of UI work as a commit has them; what they show decides nothing."""
        async with self.clean_copy(commit) as clean, self._services:
            made = self.run.ui_work(clean.services, task, work, 0)
            if made and made.look:
                await clean.services.prepare()
                await look_at(made.look, clean.services.url)

    @asynccontextmanager
    async def clean_copy(self, commit: str) -> AsyncIterator[CleanCopy]:
        """A copy with the files of one commit, and nothing else but what Ralph provides."""
        async with self._turns:
            clean = self._free.pop() if self._free else await self._make()
            try:
                await self._prepare(clean, commit)
                yield clean
            finally:
                self._free.append(clean)

    async def _prepare(self, clean: CleanCopy, commit: str) -> None:
        copy = clean.copy
        await copy.reset(commit)
        provided = await self.run.provide(copy)
        await copy.clean()
        await self.run.restore_provided(copy)
        clean.variables = {"TMPDIR": str(clean.scratch), **provided}
        clean.services.environment = gate_environment(self.run.config, clean.variables)
        for entry in clean.scratch.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

    async def _make(self) -> CleanCopy:
        run = self.run
        self._made += 1
        assert run.branch, "what is verified is on a branch"
        copy = run.working_copy(run.workspace.clean_copies / str(self._made))
        scratch = Path(tempfile.mkdtemp(prefix=f"{run.scratch_prefix}v{self._made}-"))
        self._stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        services = await self._stack.enter_async_context(
            Services(
                services=run.config.services,
                cwd=copy.root,
                logs=run.logs,
                owner=run.id,
                started=lambda service, seconds: run.emit(
                    ServiceStarted(service=service.name, ready=service.ready, seconds=seconds)
                ),
                noted=lambda text: run.emit(Noted(text=text)),
                borrows=False,
            )
        )
        return CleanCopy(copy=copy, services=services, scratch=scratch)

    def bench(self, clean: CleanCopy, label: str, work: str) -> Bench:
        return self._bench(clean.copy, clean.variables, label, work, ui=clean.services.variables)

    def bench_in_slot(self, copy: WorkingCopy, variables: dict[str, str], label: str, work: str) -> Bench:
        """For `verify.where: "slot"`, and for command steps, which belong to the work."""
        return self._bench(copy, variables, label, work, ui={})

    def _bench(
        self, copy: WorkingCopy, variables: dict[str, str], label: str, work: str, *, ui: dict[str, str]
    ) -> Bench:
        run = self.run
        return Bench(
            cwd=copy.root,
            logs=run.logs,
            owner=run.id,
            label=label,
            environment=gate_environment(run.config, variables),
            ui_variables=ui,
            started=lambda gate: run.emit(GateStarted(work=work, gate=gate.name, command=gate.command)),
            ended=lambda result: run.emit(GateEnded(work=work, result=result)),
        )
