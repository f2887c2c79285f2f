"""Reads the state of a project for its pages; what did not change is not read again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.read import one_moment
from ralph.plan.model import Plan
from ralph.report import attention
from ralph.report.collect import collect
from ralph.report.facts import Notice, PlanReport
from ralph.stores import instructions, lock
from ralph.stores.lock import Owner
from ralph.views.inbox import InboxItem
from ralph.web.histories import Histories
from ralph.web.project import CommandFacts, WebProject
from ralph.workflows.inbox import gathered
from ralph.workflows.registry import everything
from ralph.workflows.target import Target

FRESH = 2.0
"""Seconds that an answer is used again while nothing is known to have changed: files may change without a word."""
MAX_ANSWERS = 64

T = TypeVar("T")


class PlanRow(Frozen):
    """A plan in the list of plans."""

    target: str
    workflow: str
    plan: Plan | None  # None: there is only a draft
    problem: str = ""  # why it cannot be read
    draft: str = ""


class TargetReport(Frozen):
    """Everything about one plan, and what to look at first."""

    report: PlanReport
    notices: tuple[Notice, ...]
    folder: Target
    paused: bool = False  # a person paused the run that is at work


class ProjectReader:
    """Answers questions about one project. Threads take turns, so that a question is answered once."""

    def __init__(self, project: WebProject, commands: CommandFacts) -> None:
        self.project = project
        self.commands = commands
        self.histories = Histories(project.workspace)
        self._version = 0
        self._answers: dict[tuple[str, str], tuple[int, float, object]] = {}
        self._turn = threading.RLock()

    def changed(self) -> None:
        """Forget what was read: something happened."""
        self._version += 1

    def owner(self) -> Owner | None:
        """Return the run that is at work."""
        return lock.holder(self.project.workspace.lock)

    def plans(self) -> tuple[PlanRow, ...]:
        return self._once("plans", "", self._plans)

    def needs(self) -> tuple[InboxItem, ...]:
        """Return what needs a person, in the one order that all views share."""
        return self._once("needs", "", self._needs)

    @one_moment()
    def _needs(self) -> tuple[InboxItem, ...]:
        known = {row.target: row.plan for row in self.plans()}
        plans = [(target, known.get(target.name)) for target in self._targets()]
        return gathered(self.project.workspace, plans)

    def target(self, name: str) -> Target | None:
        """Return a plan by its name, only if the project has it: a name from an address is never part of a path."""
        return next((target for target in self._targets() if target.name == name), None)

    def report(self, name: str) -> TargetReport | None:
        """Return what is known about a plan; None if there is none of this name."""
        return self._once("report", name, lambda: self._report(name))

    def _targets(self) -> list[Target]:
        return self._once("targets", "", lambda: everything(self.project.workspace))

    @one_moment()
    def _plans(self) -> tuple[PlanRow, ...]:
        return tuple(self._row(target) for target in self._targets())

    def _row(self, target: Target) -> PlanRow:
        try:
            plan = self.commands.plan_of(self.project.workspace, target)
        except RalphError as error:
            return PlanRow(target=target.name, workflow=target.workflow, plan=None, problem=error.what)
        return PlanRow(target=target.name, workflow=target.workflow, plan=plan, draft="" if plan else target.draft)

    @one_moment()
    def _report(self, name: str) -> TargetReport | None:
        target = self.target(name)
        plan = self.commands.plan_of(self.project.workspace, target) if target else None
        if target is None or plan is None:
            return None
        workspace = self.project.workspace
        past = self.histories.of(name)
        unseen = self.commands.unseen(workspace, plan)
        report = collect(workspace, target, plan, unseen=unseen, sizes=False, past=past)
        owner = self.owner()
        paused = bool(owner and report.running and instructions.paused_run(workspace, name, owner))
        return TargetReport(report=report, notices=attention.notices(report), folder=target, paused=paused)

    def _once(self, kind: str, name: str, answer: Callable[[], T]) -> T:
        with self._turn:
            known = self._answers.get((kind, name))
            if known and known[0] == self._version and time.monotonic() - known[1] < FRESH:
                return known[2]  # type: ignore[return-value]  # each kind has answers of one type
            version = self._version
            found = answer()
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            self._answers[kind, name] = version, time.monotonic(), found
            return found
