"""What a command works on: one plan of any workflow, and where its current version is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.read import Branch
from ralph.plan.model import Plan, TaskState


class PlanStore(Protocol):
    """A store that can also read bytes from elsewhere."""

    def load(self, data: bytes | None = None) -> Plan: ...

    def save(self, plan: Plan) -> object: ...


class Target(Frozen):
    """A plan of any workflow."""

    name: str
    workflow: str
    command: str  # the command that resumes it
    file: str  # its plan, relative to the project's root
    folder: Path | None  # a project root on disk that has it; None: only on its branch
    repo: Path  # the repository that has its attempts
    branch: Branch | None
    where: str
    read: Callable[[], bytes | None]
    store: Callable[[], PlanStore]
    files: tuple[str, ...] = ()  # what a state commit holds beside the plan
    draft: str = "PRD drafted, not finalized"  # how far it has come while there is no plan
    unplanned: RalphError | None = None  # the error for commands that need a plan
    plan_command: str = ""  # what plans it, if that is another command
    is_agreed: Callable[[Plan], bool] = lambda _: True  # whether its final review has agreed, if it has one
    defers_commit: bool = False  # passed work stays pending until its spec is complete
    marked_by: str = ""  # why `ralph retry` cannot change it; empty: it can

    def plan(self) -> Plan | None:
        """The plan; None while there is only a draft."""
        data = self.read()
        plan = None if data is None else self.store().load(data)
        return plan if plan is None or self.unplanned is None else None

    @property
    def is_finished(self) -> bool:
        """Whether every task has passed, every spec is committed, and the final review agreed if there is one."""
        try:
            plan = self.plan()
        except RalphError:
            return False
        if plan is None or not plan.tasks or plan.count(TaskState.PASSED) < len(plan.tasks):
            return False
        return all(spec.state is not TaskState.PENDING for spec in plan.specs) and self._agrees(plan)

    def _agrees(self, plan: Plan) -> bool:
        try:
            return self.is_agreed(plan)
        except RalphError:  # its files cannot be read
            return False

    def needed_plan(self) -> Plan:
        """The plan, or an error that says how to get one."""
        plan = self.plan()
        if plan is None:
            raise self.unplanned or _no_plan(self.name)
        return plan


def _no_plan(name: str) -> RalphError:
    return RalphError(
        f"The feature {name!r} has no prd.json yet.", remedy=f"Finalize its PRD with `ralph plan {name}`."
    )
