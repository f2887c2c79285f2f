"""The repositories that a project's plans belong to."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.git.repo import Repo, open_repo
from ralph.workflows.registry import everything
from ralph.workspace import Workspace


async def repositories(workspace: Workspace) -> list[Repo]:
    """The repository of the project's own folder, if any, and those of applications below it."""
    found: dict[object, Repo] = {}
    for folder in (workspace.root, *(target.repo for target in everything(workspace))):
        try:
            repo = await open_repo(folder)
        except RalphError:
            continue  # not a repository yet
        found.setdefault(repo.git_dir, repo)
    return list(found.values())
