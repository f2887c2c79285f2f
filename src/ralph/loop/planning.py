"""Asking agents for plans: the lock, a journal and an agent, for as long as a person's conversation goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.config import Config
from ralph.git import look
from ralph.journal.events import Noted
from ralph.journal.writer import Journal, Listener, new_run_id
from ralph.loop import trusted
from ralph.loop.ask import ask
from ralph.loop.recover import end_orphans
from ralph.loop.run import Run
from ralph.loop.settle import Policy
from ralph.loop.site import Site
from ralph.loop.workflow import Claimed, Occasion, Prompt
from ralph.plan.model import Plan, Task
from ralph.plan.work import Ending, Finished, Kind, StepSpec, Work
from ralph.process import tree
from ralph.process.environment import Redactor, secrets_in
from ralph.stores import atomic, lock
from ralph.verify.gates import Gate
from ralph.verify.services import Services
from ralph.workspace import Workspace

T = TypeVar("T")


@dataclass
class Planner:
    """Asks one agent after another for answers, each validated by whoever asked."""

    name: str  # what is planned
    run: Run
    _workflow: _Planning

    @property
    def root(self) -> Path:
        return self.run.workspace.root

    async def ask(
        self,
        work_id: str,
        title: str,
        template: str,
        variables: Mapping[str, object],
        read: Callable[[bytes], T],
    ) -> T:
        """An answer that `read` accepts; what it refuses goes back to the agent."""
        answer = self.run.workspace.records / "answers" / f"{work_id}-{self.name}"
        name = str(answer.relative_to(self.root))
        self._workflow.variables = {**variables, "answerFile": name}
        work = Work(
            kind=Kind.PLAN,
            id=work_id,
            title=title,
            steps=(StepSpec(type="agent"),),
            role="planner",
            prompt=template,
            writable=(name,),
        )
        before = look.show(self.root, "status", "--porcelain")
        try:
            return await ask(self.run, work, answer, read)
        finally:
            answer.unlink(missing_ok=True)
            self._tell_what_changed(before)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run one planning call to its end."""

        async def guarded() -> T:
            tree.adopt_orphans()
            with self.run.interrupt.on_signals():
                return await work

        return asyncio.run(guarded())

    def _tell_what_changed(self, before: str) -> None:
        """A planning call is not to change the project; whose change it was cannot be known, so it stays."""
        after = look.show(self.root, "status", "--porcelain")
        changed = sorted(set(after.splitlines()) - set(before.splitlines()))
        if changed:
            names = ", ".join(line[3:] for line in changed[:5])
            self.run.emit(
                Noted(text=f"Files changed while the agent was planning: {names}. See `git status`.", warning=True)
            )


@contextmanager
def planner(
    workspace: Workspace, config: Config, target: str, listener: Listener, *, makes: tuple[str, ...] = ()
) -> Iterator[Planner]:
    """A planner for `target`, alone in this project while it is open; `makes`: files outside of `.ralph/` that
    only Ralph may write with what it plans."""
    check_installed(config.provider_for("planner"), workspace.root)
    run_id = new_run_id()
    owner = lock.me(run_id, target)
    with (
        lock.hold(workspace.lock, owner) as left_by,
        Journal(workspace.logs / run_id, Redactor(secrets_in(os.environ)).text) as journal,
    ):
        workspace.keep_out_of_git()
        asyncio.run(end_orphans(left_by, workspace.records))
        for name in workspace.own_files:
            atomic.sweep(workspace.root / name)
        journal.listen(listener)
        workflow = _Planning(f"plan-{target}", workspace.root, plan_paths=makes)
        run = Run(
            id=run_id,
            workspace=workspace,
            config=config,
            workflow=workflow,
            plan=workflow.store.load(),
            journal=journal,
            owner=owner,
            home=Site(
                folder=workspace.root,
                services=Services((), workspace.root, journal.folder, run_id, lambda *_: None),
            ),
        )
        try:
            yield Planner(target, run, workflow)
        finally:
            trusted.forget(workspace, workflow.target)


class _Nothing:
    """A planning call has no plan file of its own to save."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def load(self) -> Plan:
        return self._plan

    def save(self, plan: Plan) -> None: ...


@dataclass
class _Planning:
    """Planning calls as work for the engine: one agent step each, and an answer file it may write."""

    target: str
    project: Path
    variables: dict[str, object] = field(default_factory=dict)
    name: str = "planning"
    policy: Policy = field(default_factory=Policy)
    plan_paths: tuple[str, ...] = ()
    state_paths: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    state_message: str = ""
    already_red: tuple[str, ...] = ()

    @property
    def store(self) -> _Nothing:
        return _Nothing(Plan(target=self.target))

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Finished:
        return Finished(ending=Ending.DONE)

    def work(self, plan: Plan, kind: Kind, work_id: str) -> Work | None:
        return None

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        return ()

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        return ()

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        return False

    def claimed(self, plan: Plan, work: Work, data: bytes) -> Claimed:
        return Claimed()

    def commit_message(self, plan: Plan, work: Work) -> str:
        return ""

    def prompt(self, occasion: Occasion) -> Prompt:
        mistakes = "\n\n".join(result.reason for result in occasion.earlier if result.reason)
        text = prompts.render(occasion.work.prompt, {**self.variables, "mistakes": mistakes}, self.project)
        return Prompt(text=text)
