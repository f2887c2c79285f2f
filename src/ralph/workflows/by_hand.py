"""A person changes a plan: where it lives, under the lock, saved and committed as Ralph does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.git import look
from ralph.journal.writer import new_run_id
from ralph.loop.plan_files import plan_files
from ralph.plan.model import Plan
from ralph.stores import lock
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.targets import Target, find


def change_plan(name: str, change: Callable[[Plan, str], Plan]) -> Target:
    """Change a target's plan by `change`, which also gets the commit that its work stands on."""
    if "RALPH_RUN" in os.environ:
        raise RalphError("Only a person can do this: it was called from inside of a run.")
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    target = find(workspace, name)
    if target.marked_by:
        raise RalphError(f"Only its roles can mark the tasks of {name}.", remedy=target.marked_by)
    run_id = new_run_id()
    with lock.hold(workspace.lock, lock.me(run_id, name), brief=True):
        branch = target.branch.name if target.branch else ""
        message = config.commits.message.replace("prd.json", Path(target.file).name)
        with plan_files(workspace, config, name, branch, run_id, message=message):
            target = find(workspace, name)
            stands_on = look.head(target.repo, branch or f"{BRANCH_PREFIX}{name}") or look.head(target.repo, "HEAD")
            store = target.store()
            store.save(change(store.load(), stands_on))
    return find(workspace, name)
