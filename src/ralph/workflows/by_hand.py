"""A person changes a plan: where it lives, under the lock, saved and committed as Ralph does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git.repo import open_repo
from ralph.journal.writer import new_run_id
from ralph.loop.home import let_go, take
from ralph.plan.model import Plan
from ralph.stores import lock
from ralph.workflows.targets import Target, find
from ralph.workspace import Workspace


def change_plan(name: str, change: Callable[[Plan, str], Plan]) -> Target:
    """Change a target's plan by `change`, which also gets the commit that is checked out."""
    if "RALPH_RUN" in os.environ:
        raise RalphError("Only a person can do this: it was called from inside of a run.")
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    target = find(workspace, name)
    if target.marked_by:
        raise RalphError(f"Only its roles can mark the tasks of {name}.", remedy=target.marked_by)
    with lock.hold(workspace.lock, lock.me(new_run_id(), name), brief=True):
        return asyncio.run(_change(workspace, config, name, change))


async def _change(workspace: Workspace, config: Config, name: str, change: Callable[[Plan, str], Plan]) -> Target:
    async with _on_disk(workspace, name) as target:
        assert target.folder is not None, "it is on disk"
        repo = await open_repo(target.repo if target.branch is None else target.folder)
        status, store = await repo.status(), target.store()
        plan = store.load()
        store.save(change(plan, status.head))
        file = (target.folder / target.file).resolve()
        if config.commits.prd_changes and not plan.specs and status.branch == (plan.branch or status.branch):
            top = repo.top.resolve()
            if file.is_relative_to(top):
                message = config.commits.message.replace("prd.json", file.name)
                beside = [target.folder / path for path in target.files if (target.folder / path).exists()]
                paths = dict.fromkeys(str(path.resolve().relative_to(top)) for path in (file, *beside))
                await repo.commit_own(paths, message)
        return target


@asynccontextmanager
async def _on_disk(workspace: Workspace, name: str) -> AsyncIterator[Target]:
    """The target with its plan in a checkout; a worktree that has let go of the branch takes it for so long."""
    target = find(workspace, name)
    if target.folder is not None:
        yield target
        return
    branch = target.branch.name if target.branch else ""
    worktree = workspace.worktrees / (name if target.workflow == "feature" else branch.rpartition("/")[2])
    if not (worktree / ".git").exists():
        raise RalphError(
            f"The plan of {name} lives on the branch {branch}, which is not checked out.",
            remedy=f"Check it out first: git switch {branch}",
        )
    inside = await open_repo(worktree)
    await take(inside, await open_repo(workspace.root), branch, "--jobs")
    try:
        yield find(workspace, name)
    finally:
        await let_go(inside, branch)
