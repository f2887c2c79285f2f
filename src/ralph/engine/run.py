"""One run: the state that its attempts share, such as breakers, limits and the verifier."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.checkout.branch import TargetBranch
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.plan_worktree import PlanWorktree
from ralph.config import NAME, Budget, Config
from ralph.engine.agent_limits import AgentLimits
from ralph.engine.breaker import Breaker
from ralph.engine.budget import Spending
from ralph.engine.interrupt import Interrupt
from ralph.engine.marks import Marks
from ralph.engine.plan_edits import PlanEdits
from ralph.engine.red_before import RedBefore
from ralph.engine.steering import Steering
from ralph.engine.workflow import Workflow
from ralph.frozen import Frozen
from ralph.git.config import with_persons
from ralph.journal.events import Event, Noted
from ralph.journal.writer import Journal
from ralph.plan.attempt import Record
from ralph.plan.model import Gate, GateResult, NeedKind, Plan, Task
from ralph.plan.usage import Usage
from ralph.plan.work import StepSpec
from ralph.process.clock import seconds
from ralph.process.redaction import Secrets
from ralph.protect import crash_copies
from ralph.protect.git_trace import Trace
from ralph.stores import last_run, records
from ralph.stores.last_run import LastRun
from ralph.stores.lock import Owner
from ralph.verify.gate_list import waived
from ralph.workspace import Workspace

if TYPE_CHECKING:  # methods import what only attempts need: a plan that is complete starts without it
    from ralph.checkout.working_copy import WorkingCopy
    from ralph.engine.acceptance import AcceptanceDesk
    from ralph.engine.train import Train
    from ralph.engine.verification import Verifier
    from ralph.protect.guard import Guard
    from ralph.provision.destination import Destination
    from ralph.provision.discover import Dependency
    from ralph.receipts.statement import AttemptFacts
    from ralph.sandbox.sandbox import Sandbox
    from ralph.steps.recorder import Recorder
    from ralph.stores.held_out import HeldOutFile
    from ralph.verify.browser import Browser

GIT_CONFIG = "ralph-global"


class Doubt(Frozen):
    """What Ralph cannot know when a run begins."""

    is_unclean: bool = False  # the last run did not end by itself, as far as Ralph can tell
    tasks: tuple[str, ...] = ()  # passed in the plan, and Ralph did not see it
    repository: Mapping[str, str] = field(default_factory=dict)  # git's own files when a killed run began


@dataclass
class Run:
    """The state of one `ralph run`."""

    id: str
    workspace: Workspace
    config: Config
    workflow: Workflow
    plan: Plan
    journal: Journal
    owner: Owner
    secrets: Secrets = field(default_factory=Secrets, repr=False)  # what must not be in anything that is written
    recorder: Recorder | None = None  # None: agent calls are not recorded
    branch: TargetBranch | None = None  # None: nothing is built, agents only answer
    plans: PlanWorktree | None = None  # the worktree with the plan's files, if they belong to the branch
    own: OwnFiles = field(default_factory=OwnFiles)
    browser: Browser | None = None  # None: no page is opened
    model: str = ""  # from the command line: overrides the configured model
    jobs: int = 1
    keep_going: bool = False  # continue even if a gate cannot run at all
    clock: Callable[[], float] = time.time  # for moments: somebody may set it, also back
    elapsed: Callable[[], float] = seconds  # for how long something takes
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    interrupt: Interrupt = field(default_factory=Interrupt)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # the highest attempt number that is kept, by work
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # must be held to land or settle
    ahead: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the plan says what the branch does not yet
    inspections: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(os.cpu_count() or 1))
    """Limits how many attempts are inspected at once, so that the first is ready to land soon."""
    guards: set[Guard] = field(default_factory=set)  # the guards that are watching now
    conflicts: dict[str, int] = field(default_factory=dict)  # how often a task conflicted with other tasks' work
    verified: dict[str, tuple[GateResult, ...]] = field(default_factory=dict)  # green gate results by tree
    before: dict[str, tuple[GateResult, ...]] = field(default_factory=dict)  # any results by tree, without work
    pending_attempts: dict[str, AttemptFacts] = field(default_factory=dict)  # of pending work, for its receipt
    red_before: RedBefore = field(default_factory=RedBefore)  # gates that failed before the attempts
    unproven: set[str] = field(default_factory=set)  # the tasks of which only the plan says that they passed
    claims: set[tuple[str, NeedKind]] = field(default_factory=set)  # what agents have asked a person for, by work
    marks: Marks = field(default_factory=Marks)
    held_out: tuple[HeldOutFile, ...] = ()  # what agents never see, as it was when the run began
    git_configs: set[Path] = field(default_factory=set)  # the global configurations of working copies
    sandbox: Sandbox | None = None  # around everything that is not Ralph's own, once there is work to do
    limits: AgentLimits = field(init=False)
    spending: Spending = field(init=False)
    steering: Steering = field(init=False)
    edits: PlanEdits = field(init=False)
    _trains: dict[str, Train] = field(default_factory=dict)
    _verifier: Verifier | None = None
    _put_back: set[tuple[str, ...]] = field(default_factory=set)  # changes to provided files that were already reported
    _found: Dependency | None = None  # the dependency folders of the person's checkout, as last seen

    def __post_init__(self) -> None:
        path = self.workspace.records / "limits.json"
        self.limits = AgentLimits(path=path, clock=self.clock, written=self._expect)
        self.spending = Spending(
            folder=self.workspace.records,
            run=self.id,
            target=self.plan.target,
            budget=self.config.budget,
            clock=self.elapsed,
            written=self._expect,
        )
        self.journal.listen(self.spending)
        self.steering, self.edits = Steering(self), PlanEdits(self)

    def begin_limits(self, *, waits: bool = True, try_now: bool = False, budget: Budget | None = None) -> None:
        """Take over what earlier runs knew about limited agents, and what they spent."""
        self.limits.waits = waits
        if try_now:
            self.limits.forget()
        else:
            self.limits.load()
        self.spending.budget = budget or self.config.budget
        self.spending.begin()

    def meter(self, work: str, attempt: int, usage: Usage) -> None:
        """Note what a running call has used; with a hard budget that is used up, end all calls."""
        if self.spending.meter(work, attempt, usage):
            self.interrupt.halt()

    @property
    def verifier(self) -> Verifier:
        """The clean copies of the run, prepared on first use."""
        if self._verifier is None:
            from ralph.engine.verification import Verifier

            assert self.branch, "only work on a branch is verified"
            self._verifier = Verifier(self, self.config.verify.jobs or self.jobs)
        return self._verifier

    def train(self, line: str) -> Train:
        """Return the merge train to a line, or to the branch."""
        from ralph.engine.coupling import train_to

        return self._trains.get(line) or self._trains.setdefault(line, train_to(self, line))

    @cached_property
    def acceptance(self) -> AcceptanceDesk:
        """The acceptance tests of the plan's tasks, read on first use."""
        from ralph.engine.acceptance import AcceptanceDesk

        return AcceptanceDesk(self)

    async def aclose(self) -> None:
        """Stop all services."""
        if self._verifier:
            await self._verifier.close()

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates that run now: for a task, or without one for all that has passed."""
        gates, settings = self._in_force(task, self.workflow.gates(task)), self.config.acceptance
        return (*gates, *self.acceptance.gates(task)) if settings.enabled and settings.held_out else gates

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates that need services and pages, in the same way."""
        return self._in_force(task, self.workflow.ui_gates(task))

    def _in_force(self, task: Task | None, gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
        """Leave out gates about other tasks; for the whole plan, do not require what a person waived for a task."""
        applying = tuple(gate for gate in gates if gate.applies(self.plan, task))
        return applying if task else waived(applying, {name for one in self.plan for name in one.waived})

    @property
    def project(self) -> Path:
        """The folder with the plan's files."""
        return self.plans.root if self.plans and self.own.held else self.workspace.root

    @property
    def logs(self) -> Path:
        return self.journal.folder

    @property
    def trace(self) -> Trace:
        """The file in which git records the commands of agents, gates and hooks."""
        return Trace(self.logs / "git-trace.jsonl")

    @property
    def scratch_prefix(self) -> str:
        """The prefix of this project's temporary folders; short, because socket paths have a length limit."""
        return f"ralph-{hashlib.sha256(bytes(self.workspace.root)).hexdigest()[:8]}-"

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        """Create a temporary folder for one use and remove it afterwards."""
        folder = Path(tempfile.mkdtemp(prefix=self.scratch_prefix))
        try:
            yield folder
        finally:
            with suppress(OSError):  # the next run tries again
                safe_files.remove_all(folder)

    def emit(self, event: Event) -> None:
        self.journal.emit(event)

    def warn(self, text: str) -> None:
        self.emit(Noted(text=text, warning=True))

    def working_copy(self, folder: Path) -> WorkingCopy:
        from ralph.checkout.working_copy import WorkingCopy
        from ralph.provision.provide import provided_so_far

        assert self.branch, "working copies belong to a branch"
        copy = WorkingCopy(
            repo=self.branch.repo,
            folder=folder,
            own=self.own,
            branch=self.branch.name,
            max_file_bytes=int(self.config.commits.max_file_mb * 1e6),
        )
        copy.provided = provided_so_far(self.destination(copy))
        return copy

    async def provide(self, copy: WorkingCopy) -> Mapping[str, str]:
        """Add the ignored files that gates need to a working copy; return the variables that go with them."""
        from ralph.provision.provide import provide

        destination = self.destination(copy)
        provided = await provide(destination, self._found)
        copy.provided, self._found = provided.paths, provided.found
        copy.is_new &= not self.config.worktrees.setup  # set-up commands may leave anything
        for text in provided.notes:
            self.emit(Noted(text=f"{copy.folder.parent.name.strip('.')} {copy.folder.name}: {text}"))
        # if code breaks the repository there, git must not find the person's repository above it
        above = str(copy.folder.parent)
        return {"GIT_CEILING_DIRECTORIES": above, **self.git_variables(copy), **provided.variables}

    def git_variables(self, copy: WorkingCopy) -> dict[str, str]:
        """Return the git variables for a copy: its trace file and its own global configuration, which it may write."""
        path = copy.folder / ".git" / GIT_CONFIG
        with safe_files.open_new(path) as file:
            file.write(with_persons(os.environ))
        self.git_configs.add(path)
        return {"GIT_CONFIG_GLOBAL": str(path), **self.trace.variables}

    def remove_temporary(self) -> None:
        """Remove the git trace and the git configurations of the run, which has ended."""
        for path in filter(os.path.lexists, (self.trace.file, *self.git_configs)):
            with suppress(OSError), safe_files.folder(path.parent) as handle:
                safe_files.remove(path.name, handle)

    async def restore_provided(self, copy: WorkingCopy) -> None:
        """Undo changes that agents, gates or hooks made to provided files."""
        from ralph.provision.restore import restore

        changed = await restore(self.destination(copy))
        if changed and changed not in self._put_back:
            self._put_back.add(changed)  # report it once: a gate such as `uv run` does it each time
            more = f" and {len(changed) - 1} more" if changed[1:] else ""
            text = f"Files that Ralph had provided were changed, and Ralph restored them: {changed[0]}{more}."
            self.emit(Noted(text=text, warning=True))

    def destination(self, copy: WorkingCopy) -> Destination:
        from ralph.engine.containment import around_setup
        from ralph.provision.destination import Destination
        from ralph.verify.gates import gate_environment

        made = Destination(
            settings=self.config.worktrees,
            source=copy.repo.top,
            top=copy.folder,
            owner=self.id,
            log=self.logs / f"setup-{_label(copy)}.log",
            env=gate_environment(self.config, {}),
            prefix=copy.repo.prefix,
            secrets=self.secrets,
        )
        return replace(made, within=around_setup(self, made.top, made.records))

    async def reset(self, copy: WorkingCopy, commit: str, tree: str = "") -> None:
        """Reset a copy for an agent, with the current plan."""
        plan = self.plans.shown() if self.plans and self.own.held else None
        await copy.reset(commit, tree, plan=plan)

    @property
    def is_parallel(self) -> bool:
        """Whether several attempts may run at the same time."""
        return self.jobs > 1 or bool(self.config.race.agents) or any(task.race for task in self.plan)

    @property
    def shares_plan(self) -> bool:
        """Whether several agents may see the same file with the plan."""
        return self.is_parallel and not self.own.held

    def breaker(self, spec: StepSpec) -> Breaker | None:
        settings = spec.resilience
        if not settings.breaker_threshold:
            return None
        return self.breakers.setdefault(
            spec.label, Breaker(settings.breaker_threshold, settings.breaker_reset, self.clock)
        )

    def note(self, record: Record) -> None:
        """Save a record."""
        self._expect(records.save(self.workspace.records, record))

    def forget(self, record: Record) -> None:
        self._expect(records.remove(self.workspace.records, record))

    def _expect(self, path: Path) -> None:
        """Tell the active guards that Ralph itself has just written a file."""
        for guard in self.guards:
            guard.expect(path)

    def save(self, plan: Plan) -> None:
        """Save the plan if it changed. It is committed with the next work that lands, or when the run ends."""
        if plan != self.plan:
            if self.shares_plan:
                self.marks.note(self.workflow, self.plan, safe_files.read(self.project / self.workflow.plan_paths[0]))
            plan = self.edits.onto(plan)
            self.plan = self.workflow.store.save(plan) or plan
            self.expect_plan()

    def expect_plan(self) -> None:
        """Tell the active guards that Ralph wrote the plan."""
        for path in dict.fromkeys((*self.workflow.plan_paths, *self.workflow.state_paths)):
            self._expect(self.project / path)
        self.edits.expect()

    def note_passed(self, *, is_over: bool, repository: Mapping[str, str] | None = None) -> None:
        """Note for the next run what has passed and was seen to; until `is_over`, this run counts as killed."""
        seen = last_run.moments(task for task in self.plan if task.id not in self.unproven)
        last = LastRun(is_over=is_over, passed=seen, repository=repository or {})
        last_run.save(self.workspace, self.plan.target, last)

    def secure(self) -> None:
        """Save a crash copy of the plan: after a kill, the next run starts with it, whatever agents changed."""
        plan = [self.project / path for path in self.workflow.plan_paths]
        for path in (self.project / name for name in self.workflow.guarded):
            plan += sorted(path.iterdir()) if path.is_dir() else [path]
        # agents can find the plan in the project, and the files that configure its run are beside it
        if not self.own.held:
            plan += [self.workspace.root / NAME, *sorted((self.workspace.ralph / "configs").glob("*.json"))]
        tip = self.branch.expected if self.branch else ""
        self._expect(crash_copies.keep(self.workspace, self.plan.target, plan, tip=tip, done=self.steering.done))

    def known_results(self, tree: str) -> tuple[GateResult, ...]:
        """Return what this run knows of the gates on a tree, whether they were green or not."""
        known = self.verified.get(tree, ())
        names = {result.name for result in known}
        more = (result for result in self.before.get(tree, ()) if result.name not in names)
        return tuple(result for result in (*known, *more) if not result.not_run)

    async def commit_state(self) -> None:
        """Commit the plan alone, after the state changed without any work."""
        if not self.branch or not self.plans or not self.own.held or not self.config.commits.prd_changes:
            return
        if not await self.branch.land_state(self._with_plan, self.workflow.state_message):
            self.emit(
                Noted(text=f"Another process moved {self.branch.name}, so Ralph did not commit the plan.", warning=True)
            )
        self.secure()

    async def _with_plan(self, tip: str) -> str:
        """Return the tree of a commit with the newest plan."""
        assert self.branch and self.plans
        tree = await self.plans.tree_with(tip, self.workflow.state_paths)
        old = await self.branch.repo.tree_of(tip)
        for results in (self.verified, self.before):
            if old in results:  # only the plan differs
                results[tree] = results[old]
        return tree


def _label(copy: WorkingCopy) -> str:
    return f"{copy.folder.parent.name.strip('.')}-{copy.folder.name}"
