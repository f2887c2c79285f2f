"""Asks agents for plans, with the lock and a journal, while a person's planning conversation lasts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ralph import config_notify, prompts, safe_files
from ralph.agent.call import check_installed
from ralph.agent.costs import refuse_unknown_costs
from ralph.checkout.open import CheckoutRequest
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.working_copy import WorkingCopy
from ralph.checkout.worktrees import remove_copy
from ralph.config import Config
from ralph.engine.attempt import run_attempt, tell_begin, tell_end
from ralph.engine.containment import contained
from ralph.engine.host import LocalHost
from ralph.engine.loop import attempt_of
from ralph.engine.orphans import end_orphans, remove_temporary
from ralph.engine.plan_files import plan_files
from ralph.engine.run import Run
from ralph.engine.settle import Policy
from ralph.engine.ticking import Tick, ticking
from ralph.engine.verdict import conclude
from ralph.errors import EXIT_INTERRUPTED, EXIT_LIMIT, RalphError
from ralph.git.repo import open_repo
from ralph.journal.writer import Journal, Listener, new_run_id, now
from ralph.plan.attempt import Record
from ralph.plan.model import Gate, Plan, Task
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.work import (
    ASKED_AGAIN,
    ContractResult,
    Ending,
    FileTexts,
    Finished,
    Outcome,
    StepSpec,
    Verdict,
    Work,
    WorkKind,
)
from ralph.process.redaction import Secrets
from ralph.process.warden import guarding
from ralph.protect import crash_copies
from ralph.protect.ledger import AGENT_EMAIL
from ralph.stores import lock
from ralph.workspace import ANSWERS, Workspace

T = TypeVar("T")
PLANNING = "plan"
"""The name of the working copy that planning agents read."""


@dataclass
class Planner:
    """Asks agents for answers, one after another; the caller validates each answer."""

    name: str  # the name of the target that is planned
    run: Run
    root: Path  # where the plan's files are
    _workflow: PlanningWorkflow
    tick: Tick | None = None  # called once a second while an agent is asked
    _host: LocalHost | None = None

    async def ask(
        self,
        work_id: str,
        title: str,
        template: str,
        variables: Mapping[str, object],
        read: Callable[[bytes], T],
    ) -> T:
        """Return an answer that `read` accepts; send rejected answers back to the agent."""
        host = self._host = self._host or await self._open()
        name, answers = f"{ANSWERS}/{work_id}-{self.name}", list[T]()
        self._workflow.variables = {**variables, "answerFile": name}
        self._workflow.read = lambda data: answers.append(read(data))
        work = Work(
            kind=WorkKind.PLAN,
            id=work_id,
            title=title,
            steps=(StepSpec(type="answer", resilience=ASKED_AGAIN),),
            role="planner",
            prompt=template,
            writable=(name,),
        )
        self._show_sources(host)
        outcome = await self._attempt(host, work)
        if outcome.verdict is Verdict.PASSED:
            return answers[-1]
        raise RalphError(
            f"The agent gave no usable answer in {ASKED_AGAIN.max_retries + 1} tries ({title[0].lower()}{title[1:]}).",
            details=tuple(filter(None, outcome.reason.splitlines()[:20])),
            remedy=f"Nothing was changed. The agent's output is in {self.run.logs}",
        )

    async def _attempt(self, host: LocalHost, work: Work) -> Outcome:
        """Ask in one attempt; an error says that nothing can be asked now."""
        run = self.run
        self._need_budget()
        record = Record(
            run=run.id,
            target=run.plan.target,
            kind=work.kind,
            work=work.id,
            number=1,
            base="",
            branch="",
            began=run.clock(),
        )
        tell_begin(run, work, record, failures=0, max_failures=1)
        began = run.elapsed()
        record = await run_attempt(attempt_of(run, work, record), host, record)
        run.forget(record)
        outcome = conclude(run.plan, work, record, now(), run.elapsed() - began)
        tell_end(run, work, record, outcome)
        if run.interrupt.halted:
            self._need_budget()
        if outcome.fatal:
            raise RalphError(
                outcome.reason,
                remedy="Fix the cause (log in, add credit, choose another model), then run the command again.",
            )
        if outcome.verdict is Verdict.INTERRUPTED:
            raise RalphError(
                "Interrupted.", remedy="Nothing was changed. Run the command again.", code=EXIT_INTERRUPTED
            )
        if outcome.verdict is Verdict.LIMITED:
            raise RalphError(outcome.reason, remedy="Run the command again later.", code=EXIT_LIMIT)
        return outcome

    def _need_budget(self) -> None:
        reason = self.run.spending.used_up()
        if reason:
            raise RalphError(reason, remedy="Raise `budget` in ralph.config.json, then run again.", code=EXIT_LIMIT)

    async def _open(self) -> LocalHost:
        """Open a disposable checkout of the person's last commit; without commits, an empty folder."""
        run = self.run
        folder = run.workspace.review_copies / PLANNING
        try:
            repo = await open_repo(run.workspace.root)
            head = await repo.head()
        except RalphError:
            head = ""
        if not head:
            safe_files.remove_all(folder)
            folder.mkdir(parents=True)
            return LocalHost(run=run, scratch=folder)
        repo.owner = run.id
        own = OwnFiles(prefix=repo.prefix, names=run.workspace.own_files)
        copy = WorkingCopy(repo=repo, folder=folder, own=own, branch="main")
        await copy.reset(head)
        if not copy.is_new:
            await copy.clean()
        return LocalHost(
            run=run,
            scratch=copy.root,
            variables={
                **repo.ident.variables,
                "RALPH_WORKTREE": str(folder),
                "GIT_COMMITTER_EMAIL": AGENT_EMAIL,
                "GIT_CEILING_DIRECTORIES": str(folder.parent),
                **run.git_variables(copy),
            },
            repo=repo,
        )

    def _show_sources(self, host: LocalHost) -> None:
        """Copy the current plan and its sources into the checkout, because they may not be committed."""
        worktrees = self.run.workspace.worktrees
        sources = OwnFiles(names=(*self.run.workspace.own_files, *self._workflow.guarded, "specs/"))
        for root in dict.fromkeys((self.run.workspace.root, self.root)):
            for path in sources.on_disk(root):
                data, target = (root / path).read_bytes(), host.project / path
                # replace symlinks that the last agent left
                safe_files.own_folder(worktrees, target.parent.relative_to(worktrees))
                safe_files.remove_all(target)
                target.write_bytes(data)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run one planning call to its end."""

        async def guarded() -> T:
            with guarding(self.run.id), self.run.interrupt.on_signals():
                async with contained(self.run), ticking(self.tick):
                    return await work

        return asyncio.run(guarded())


@contextmanager
def planner(
    workspace: Workspace,
    config: Config,
    target: str,
    listener: Listener,
    *,
    tick: Tick | None = None,
    makes: tuple[str, ...] = (),
    branch: str = "",
    defers_commit: bool = False,
) -> Iterator[Planner]:
    """Open a planner for `target`, with the project's lock.

    `makes` lists files outside `.ralph/` that only Ralph may write. A plan whose run has started is on `branch`, and is
    changed there; `defers_commit` is as in `CheckoutRequest`.
    """
    for provider in config.providers_for(["planner"]):
        check_installed(provider, workspace.root)
    refuse_unknown_costs(config, config.budget)
    run_id = new_run_id()
    owner = lock.me(run_id, target)
    secrets = Secrets.of(os.environ, workspace.root, more=config_notify.secrets(config.notify, os.environ))
    with (
        secrets.in_errors(),
        lock.hold(workspace.lock, owner) as left_by,
        Journal(workspace.logs / run_id, secrets.text, f"plan-{target}") as journal,
    ):
        workspace.keep_out_of_git()
        asyncio.run(end_orphans(left_by, workspace.records))
        remove_temporary(workspace)
        journal.listen(listener)
        workflow = PlanningWorkflow(f"plan-{target}", workspace.root, plan_paths=makes)
        run = Run(
            id=run_id,
            workspace=workspace,
            config=config,
            workflow=workflow,
            plan=workflow.store.load(),
            journal=journal,
            owner=owner,
            secrets=secrets,
        )
        run.spending.target = target
        run.begin_limits()
        try:
            wanted = CheckoutRequest(target=target, branch=branch, defers_commit=defers_commit)
            with plan_files(workspace, config, wanted, run_id) as root:
                yield Planner(target, run, root, workflow, tick)
        finally:
            remove_copy(workspace.review_copies / PLANNING)
            crash_copies.forget(workspace, workflow.target)
            run.remove_temporary()


class _PlanInMemory:
    """A store for planning calls, which have no plan file to save."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def load(self) -> Plan:
        return self._plan

    def save(self, plan: Plan) -> None: ...


@dataclass
class PlanningWorkflow:
    """Planning calls as work for the engine: each has one agent step and one answer file."""

    target: str
    project: Path
    variables: dict[str, object] = field(default_factory=dict)
    read: Callable[[bytes], None] = lambda _: None  # raises the mistakes of an answer
    name: str = "planning"
    policy: Policy = field(default_factory=Policy)
    plan_paths: tuple[str, ...] = ()
    state_paths: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    templates: Path = field(default_factory=Path)
    state_message: str = ""
    already_red: tuple[str, ...] = ()

    @property
    def store(self) -> _PlanInMemory:
        return _PlanInMemory(Plan(target=self.target))

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Finished:
        return Finished(ending=Ending.DONE)

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        return None

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        return ()

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        return ()

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        return False

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        return PlanClaims()

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        """Check the answer, which is the contract of every planning call."""
        try:
            for data in after.values():
                self.read(data or b"")
        except RalphError as error:
            return ContractResult(mistakes=error.details or (error.what,))
        return ContractResult()

    def commit_message(self, plan: Plan, work: Work) -> str:
        return ""

    def prompt(self, occasion: PromptRequest) -> Prompt:
        variables = {**self.variables, "mistakes": occasion.mistakes}
        return Prompt(text=prompts.render(occasion.work.prompt, variables, self.project))
