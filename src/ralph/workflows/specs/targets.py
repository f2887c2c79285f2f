"""The plan that was made from specs, as a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ralph.errors import RalphError
from ralph.workflows.plan_source import BRANCH_PREFIX, PlanSource, plan_source
from ralph.workflows.target import Target
from ralph.workspace import SPECS_PLAN, TARGETS, Workspace

if TYPE_CHECKING:
    from ralph.workflows.specs.store import ImplementationStore

SPECS = TARGETS[1]


def find(workspace: Workspace, name: str) -> Target | None:
    if name != SPECS:
        return None
    if not exists(workspace):
        raise RalphError(
            f"There is no plan from specs: {SPECS_PLAN} does not exist.",
            remedy="Write specs/NAME.md, then run `ralph plan --from specs/`. `ralph init --specs` prepares a project.",
        )
    return _target(workspace)


def everything(workspace: Workspace) -> list[Target]:
    return [_target(workspace)] if exists(workspace) else []


def exists(workspace: Workspace) -> bool:
    return source(workspace).read(SPECS_PLAN) is not None


def source(workspace: Workspace) -> PlanSource:
    return plan_source(workspace, f"{BRANCH_PREFIX}{SPECS}", SPECS_PLAN, target=SPECS)


def _target(workspace: Workspace) -> Target:
    found = source(workspace)
    folder = found.folder or workspace.root
    return Target(
        name=SPECS,
        workflow=SPECS,
        command=f"ralph run {SPECS}",
        plan_command="ralph plan --from specs/",
        file=SPECS_PLAN,
        folder=found.folder,
        repo=workspace.root,
        branch=found.branch,
        where=found.where,
        read=lambda: found.read(SPECS_PLAN),
        store=lambda: _implementation_store(folder),
        defers_commit=True,
    )


def _implementation_store(root: Path) -> ImplementationStore:
    from ralph.workflows.specs.store import ImplementationStore

    return ImplementationStore(root)
