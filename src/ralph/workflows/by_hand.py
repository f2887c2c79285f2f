"""A person changes a plan: on the branch where it lives, under the lock, saved and committed as Ralph does."""

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
from ralph.stores.prd import PrdStore
from ralph.workflows.features import locate


def change_plan(name: str, change: Callable[[Plan, str], Plan]) -> None:
    """Change a feature's plan by `change`, which also gets the commit that is checked out."""
    if "RALPH_RUN" in os.environ:
        raise RalphError("Only a person can do this: it was called from inside of a run.")
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    located = locate(workspace, name)
    if located.folder is None:
        branch = located.branch.name if located.branch else ""
        raise RalphError(
            f"The plan of {name} lives on the branch {branch}, which is not checked out.",
            remedy=f"Check it out first: git switch {branch}",
        )
    folder, feature = located.folder, located.feature
    store = PrdStore(folder / feature.prd_json, name)

    async def apply() -> None:
        repo = await open_repo(folder)
        status = await repo.status()
        plan = store.load()
        store.save(change(plan, status.head))
        if config.commits.prd_changes and status.branch == plan.branch:
            await repo.commit_own([f"{repo.prefix}{feature.prd_json}"], config.commits.message)

    with lock.hold(workspace.lock, lock.me(new_run_id(), name), brief=True):
        asyncio.run(apply())
