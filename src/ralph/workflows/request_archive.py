"""Putting a request aside: all of its files go into the archive, and nothing is deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ralph.config import Config
from ralph.git import look
from ralph.git.repo import open_repo
from ralph.stores import atomic
from ralph.stores.request_files import ERRORS, EXECUTION, RESULTS, STATE, Files, OnDisk, all_paths
from ralph.workflows.requests import Located
from ralph.workspace import RALPH, Workspace

LEFT = tuple(f"{RALPH}/run/{name}" for name in ("request", "left-request.json", "in-worktree/left-request.json"))
"""What a run that was cut short left: attempts at another request's tasks of the same names must not go on."""


def put_aside(workspace: Workspace, located: Located, config: Config | None) -> str:
    """Move everything into the archive; the state comes last, and with it the rest counts as archived."""
    root, folder = workspace.root, located.archive
    kept = [path for path in _everything(located.files) if path != STATE]
    archived = []
    for path in (*kept, STATE):
        data = located.files.read(path)
        if data is not None:
            archived.append(f"{folder}/{path.removeprefix(f'{RALPH}/')}")
            atomic.write(root / archived[-1], data)
    gone = _everything(OnDisk(root))
    for path in gone:
        (root / path).unlink(missing_ok=True)
    for path in (EXECUTION, ERRORS, *LEFT):
        _move(root / path, root / folder / path.removeprefix(f"{RALPH}/"))
    if config is None or config.commits.prd_changes:
        _commit(root, gone, archived)
    return folder


def _move(source: Path, target: Path) -> None:
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


def _everything(files: Files) -> list[str]:
    results = [f"{RESULTS}/{name}" for name in files.names(RESULTS) if name.endswith(".json")]
    return list(dict.fromkeys((*all_paths(files), *results)))


def _commit(root: Path, gone: list[str], archived: list[str]) -> None:
    """What git knew of it is moved there as well; what it did not know stays unknown to it."""
    tracked = look.show(root, "ls-files", "-z", "--", *gone).split("\0")[:-1]
    if not tracked:
        return

    async def commit() -> None:
        repo = await open_repo(root)
        await repo.commit_own([f"{repo.prefix}{path}" for path in (*tracked, *archived)], "chore: archive the request")

    asyncio.run(commit())
