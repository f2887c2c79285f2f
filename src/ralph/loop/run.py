"""One run: everything its attempts share. Breakers, limits and services live here, not in an attempt."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph.config import Config
from ralph.errors import EXIT_INTERRUPTED
from ralph.journal.events import Event, GateEnded, GateStarted, PageChecked
from ralph.journal.writer import Journal
from ralph.loop import record as records
from ralph.loop import trusted
from ralph.loop.breaker import Breaker
from ralph.loop.place import Place
from ralph.loop.record import Record
from ralph.loop.site import Site
from ralph.loop.workflow import Workflow
from ralph.plan.model import GateResult, Plan, Task, TaskState
from ralph.plan.work import StepSpec
from ralph.process import environment, tree
from ralph.stores.lock import Owner
from ralph.verify.browser import Browser, check_installed
from ralph.verify.gates import Bench
from ralph.verify.guard import Guard
from ralph.verify.pages import Look, Shots
from ralph.verify.suite import UiWork
from ralph.verify.urls import Page, pages_in
from ralph.workspace import Workspace


class Interrupt:
    """The first signal ends the steps that run and lets the run finish cleanly; the second ends all at once."""

    def __init__(self) -> None:
        self.requested = False
        self.halted = False  # not a person but the run itself wants its steps to end
        self.last_words: Callable[[], object] = lambda: None  # said when all is ended at once
        self._steps: set[asyncio.Task[Any]] = set()  # whatever they return

    @contextmanager
    def scope(self, step: asyncio.Task[Any]) -> Iterator[None]:
        self._steps.add(step)
        if self.cuts_short:
            step.cancel()
        try:
            yield
        finally:
            self._steps.discard(step)

    @property
    def cuts_short(self) -> bool:
        """Whether steps that run now are to end."""
        return self.requested or self.halted

    def halt(self) -> None:
        """End the steps that run, as a person's signal would."""
        self.halted = True
        for step in self._steps:
            step.cancel()

    def request(self) -> None:
        if self.requested:
            tree.kill_everything()
            self.last_words()
            sys.stderr.write("\nralph: stopped at once; the same command goes on from here.\n")
            os._exit(EXIT_INTERRUPTED)
        self.requested = True
        for step in self._steps:
            step.cancel()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, self.request)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


@dataclass
class Run:
    """What one `ralph run` has at hand."""

    id: str
    workspace: Workspace
    config: Config
    workflow: Workflow
    plan: Plan
    journal: Journal
    owner: Owner
    home: Site  # where the plan is, and where work is done that is not done side by side
    browser: Browser | None = None  # None: no page is looked at
    lands: bool = False  # tasks are done side by side, and only what has passed comes onto the branch
    gates_at_home: bool = False  # they have run where work lands: what lies about there is theirs
    model: str = ""  # asked for on the command line: comes before any that is configured
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    interrupt: Interrupt = field(default_factory=Interrupt)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # the highest attempt that is kept, by work
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # whoever changes the plan or the branch has it
    hands: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(os.cpu_count() or 1))
    """Who looks through what an agent left: so many at a time that the first of them is soon ready to land."""
    guards: set[Guard] = field(default_factory=set)  # those that are watching just now
    landed: dict[str, int] = field(default_factory=dict)  # how many works had landed, by the branch's tip
    conflicts: dict[str, int] = field(default_factory=dict)  # how often a task collided with others' work
    green: dict[str, tuple[GateResult, ...]] = field(default_factory=dict)  # what the gates said, by tree

    @property
    def place(self) -> Place | None:
        return self.home.place

    @property
    def logs(self) -> Path:
        return self.journal.folder

    def emit(self, event: Event) -> None:
        self.journal.emit(event)

    def breaker(self, spec: StepSpec) -> Breaker | None:
        settings = spec.resilience
        if not settings.breaker_threshold:
            return None
        return self.breakers.setdefault(
            spec.label, Breaker(settings.breaker_threshold, settings.breaker_reset, self.clock)
        )

    def bench(self, site: Site, label: str, work: str = "") -> Bench:
        return Bench(
            cwd=site.cwd,
            logs=self.logs,
            owner=self.id,
            label=label,
            variables=site.variables,
            started=lambda gate: self.emit(GateStarted(work=work, gate=gate.name, command=gate.command)),
            ended=lambda result: self.emit(GateEnded(work=work, result=result)),
        )

    def ui_work(self, task: Task | None, work: str, number: int) -> UiWork | None:
        """What is checked beside the gates, where work comes together; None: this is no UI work."""
        if not self.workflow.is_ui(self.plan, task):
            return None
        look = None
        tasks = self._ui_tasks(task)
        if self.browser and tasks:
            folder = self.workspace.root / self.config.browser.screenshot_dir
            look = Look(
                pages=_pages(tasks),
                browser=self.browser,
                shots=Shots(root=self.workspace.root, folder=folder, work=work, attempt=str(number or "before")),
                seen=lambda result: self.emit(PageChecked(work=work, number=number, result=result)),
                secrets=environment.secrets_in(os.environ),
            )
        return UiWork(services=self.home.services, gates=self.workflow.ui_gates(task), look=look)

    def check_browser(self) -> None:
        """Whether the browser that tasks need is here, before anybody works on them."""
        tasks = self._ui_tasks(None)
        waiting = any(task.state is TaskState.PENDING for task in tasks)
        if self.browser and waiting and (self.home.services.url or _pages(tasks)):
            check_installed(self.browser.settings)

    def _ui_tasks(self, task: Task | None) -> list[Task]:
        """Whose pages are looked at: this task's, or those of all that have some."""
        return [task] if task else [one for one in self.plan if self.workflow.is_ui(self.plan, one)]

    def note(self, record: Record) -> None:
        """Write an attempt down; whoever guards Ralph's files meanwhile learns that it was us."""
        written = records.save(self.workspace.records, record)
        for guard in self.guards:
            guard.expect(written)

    def forget(self, record: Record) -> None:
        removed = records.remove(self.workspace.records, record)
        for guard in self.guards:
            guard.expect(removed)

    async def save(self, plan: Plan, *, commit: bool = True) -> None:
        """Save the plan if it changed, then commit it: in this order a crash between the two is harmless."""
        if plan == self.plan:
            return
        self.plan = self.write(plan)
        if commit:
            await self.commit_state()

    def write(self, plan: Plan) -> Plan:
        """The plan on disk; where others' agents are at work just now, what they began with is out of date."""
        saved = self.workflow.store.save(plan)
        if self.lands:
            self.keep_plan()
        return saved or plan

    def keep_plan(self) -> None:
        """Before an agent is let loose: what it does to the plan counts for nothing, even if we are killed."""
        project = (self.place.project or self.place.root) if self.place else self.workspace.root
        plan = [project / path for path in self.workflow.plan_paths]
        for path in (project / name for name in self.workflow.guarded):
            plan += sorted(path.iterdir()) if path.is_dir() else [path]
        for written in trusted.keep(self.workspace, self.plan.target, plan):
            for guard in self.guards:
                guard.expect(written)

    async def commit_state(self) -> None:
        if self.place and self.place.holds_state and self.config.commits.prd_changes:
            paths = [self.place.in_repo(path) for path in self.workflow.state_paths if self.place.has(path)]
            await self.place.repo.commit_own(paths, self.workflow.state_message)


def _pages(tasks: Iterable[Task]) -> tuple[Page, ...]:
    return pages_in(criterion for task in tasks for criterion in task.criteria)
