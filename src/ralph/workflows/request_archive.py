"""Putting a request aside: all of its files go into the archive, and nothing is deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ralph.config import Config
from ralph.git import look
from ralph.git.look import attempt_ref
from ralph.git.repo import open_repo
from ralph.stores import atomic
from ralph.stores.request import TARGET
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
    gone = _everything(OnDisk(root)) if _is_here(root, located) else []
    for path in gone:
        (root / path).unlink(missing_ok=True)
    for path in (EXECUTION, ERRORS, *LEFT):
        _move(root / path, root / folder / path.removeprefix(f"{RALPH}/"))
    if look.top(root):
        commits = config is None or config.commits.prd_changes
        asyncio.run(_tell_git(root, Path(folder).name, gone if commits else [], archived))
    return folder


def _is_here(root: Path, located: Located) -> bool:
    """Whether the files in this checkout are of the same request; its plan may live on a branch meanwhile."""
    state = OnDisk(root).read(STATE)
    return state is not None and replace(located, state=state).created == located.created


def _move(source: Path, target: Path) -> None:
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


def _everything(files: Files) -> list[str]:
    results = [f"{RESULTS}/{name}" for name in files.names(RESULTS) if name.endswith(".json")]
    return list(dict.fromkeys((*all_paths(files), *results)))


async def _tell_git(root: Path, name: str, gone: list[str], archived: list[str]) -> None:
    """What git knew of it is moved there as well, and its attempts are kept under the archive's name."""
    repo = await open_repo(root)
    moves = [
        f"create {attempt_ref(f'{TARGET}-{name}', ref.task, ref.number)} {ref.commit}\ndelete {ref.name} {ref.commit}\n"
        for ref in look.attempts(root, TARGET)
    ]
    await repo.git("update-ref", "--stdin", stdin="".join(moves).encode())
    tracked = look.show(root, "ls-files", "-z", "--", *gone).split("\0")[:-1] if gone else []
    if tracked:
        paths = [f"{repo.prefix}{path}" for path in (*tracked, *archived)]
        await repo.commit_own(paths, "chore: archive the request")
