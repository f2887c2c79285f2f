"""A person changes a plan: where it lives, under the lock, saved and committed as Ralph does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.git.repo import open_repo
from ralph.journal.writer import new_run_id
from ralph.plan.model import Plan
from ralph.stores import lock
from ralph.workflows.targets import Target, find


def change_plan(name: str, change: Callable[[Plan, str], Plan]) -> Target:
    """Change a target's plan by `change`, which also gets the commit that is checked out."""
    if "RALPH_RUN" in os.environ:
        raise RalphError("Only a person can do this: it was called from inside of a run.")
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    target = find(workspace, name)
    if target.folder is None:
        branch = target.branch.name if target.branch else ""
        raise RalphError(
            f"The plan of {name} lives on the branch {branch}, which is not checked out.",
            remedy=f"Check it out first: git switch {branch}",
        )
    project, store = target.folder, target.store()

    async def apply() -> None:
        repo = await open_repo(target.repo if target.branch is None else project)
        status = await repo.status()
        plan = store.load()
        store.save(change(plan, status.head))
        file = (project / target.file).resolve()
        if config.commits.prd_changes and not plan.specs and status.branch == (plan.branch or status.branch):
            top = repo.top.resolve()
            if file.is_relative_to(top):
                message = config.commits.message.replace("prd.json", file.name)
                await repo.commit_own([str(file.relative_to(top))], message)

    with lock.hold(workspace.lock, lock.me(new_run_id(), name), brief=True):
        asyncio.run(apply())
    return target
