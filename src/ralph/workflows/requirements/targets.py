"""The plan that was made from requirements, as a target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.errors import RalphError
from ralph.workflows.plan_source import BRANCH_PREFIX, PlanSource, plan_source
from ralph.workflows.target import Target
from ralph.workspace import RALPH, TARGETS, Workspace, is_inside

if TYPE_CHECKING:
    from ralph.workflows.requirements.store import TasksStore

REQUIREMENTS = TARGETS[0]
PLAN = f"{RALPH}/prd.json"
CONFIG = f"{RALPH}/configs/default.json"


def find(workspace: Workspace, name: str) -> Target | None:
    if name != REQUIREMENTS:
        return None
    if not exists(workspace):
        raise RalphError(
            "There is no plan from requirements: .ralph/prd.json does not exist.",
            remedy="Make one with `ralph plan --from FILE`.",
        )
    return _target(workspace)


def everything(workspace: Workspace) -> list[Target]:
    return [_target(workspace)] if exists(workspace) else []


def exists(workspace: Workspace) -> bool:
    return source(workspace).read(_plan_file(workspace)) is not None


def source(workspace: Workspace) -> PlanSource:
    """Where the requirements' plan is; always in this folder if the application has its own repository."""
    file = _plan_file(workspace)
    return plan_source(workspace, f"{BRANCH_PREFIX}{REQUIREMENTS}", file)


def _plan_file(workspace: Workspace) -> str:
    """The plan's path in the default step configuration; `ralph validate` reports its mistakes."""
    try:
        steps = json.loads((workspace.root / CONFIG).read_bytes())["steps"]
        found = next((step["config"]["prd_file"] for step in steps if step.get("config", {}).get("prd_file")), PLAN)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return PLAN
    return found if isinstance(found, str) and is_inside(found) and "$" not in found else PLAN


def _target(workspace: Workspace) -> Target:
    file, found = _plan_file(workspace), source(workspace)
    folder = found.folder or workspace.root
    return Target(
        name=REQUIREMENTS,
        workflow=REQUIREMENTS,
        command=f"ralph run {REQUIREMENTS}",
        file=file,
        folder=found.folder,
        repo=workspace.root / _app(found.read(file)),
        branch=found.branch,
        where=found.where,
        read=lambda: found.read(file),
        store=lambda: _tasks_store(folder, file),
    )


def _app(data: bytes | None) -> str:
    """The application's folder as the plan names it; a broken plan is reported when all of it is read."""
    try:
        app = json.loads(data or b"{}").get("app", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return app if isinstance(app, str) and is_inside(app) else ""


def _tasks_store(root: Path, file: str) -> TasksStore:
    from ralph.workflows.requirements.store import TasksStore

    return TasksStore(root / file, REQUIREMENTS, root / RALPH / "learnings.md")
