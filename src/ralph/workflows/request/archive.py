"""Archives a request: moves all of its files into the archive, and deletes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ralph.checkout.branch import TargetBranch
from ralph.checkout.open import CheckoutRequest
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.plan_worktree import PlanWorktree
from ralph.git import read as git_read
from ralph.git.read import attempt_ref
from ralph.git.repo import Repo, open_repo
from ralph.stores import atomic
from ralph.workflows.request.files import ERRORS, EXECUTION, STATE, FilesOnDisk, every_path
from ralph.workflows.request.locate import LocatedRequest
from ralph.workflows.request.store import TARGET
from ralph.workspace import RALPH, Workspace

LEFT = (f"{RALPH}/run/request",)
"""Records of an interrupted run: another request's tasks with the same names must not resume them."""


def put_aside(workspace: Workspace, located: LocatedRequest) -> str:
    """Move everything into the archive. The state moves last and makes the request archived."""
    root, folder = workspace.root, located.archive
    kept = [path for path in every_path(located.files) if path != STATE]
    archived = []
    for path in (*kept, STATE):
        data = located.files.read(path)
        if data is not None:
            archived.append(f"{folder}/{path.removeprefix(f'{RALPH}/')}")
            atomic.write(root / archived[-1], data)
    gone = every_path(FilesOnDisk(root)) if _is_here(root, located) else ()
    for path in gone:
        (root / path).unlink(missing_ok=True)
    for path in (EXECUTION, ERRORS, *LEFT):
        _move(root / path, root / folder / path.removeprefix(f"{RALPH}/"))
    if git_read.top(root):
        asyncio.run(_let_go(workspace, located, Path(folder).name))
    return folder


def _is_here(root: Path, located: LocatedRequest) -> bool:
    """Whether the files in this checkout belong to the same request; its plan may be on a branch."""
    state = FilesOnDisk(root).read(STATE)
    return state is not None and replace(located, state=state).created == located.created


def _move(source: Path, target: Path) -> None:
    if source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)


async def _let_go(workspace: Workspace, located: LocatedRequest, name: str) -> None:
    """Keep its attempts under the archive's name, and release its branch."""
    repo = await open_repo(workspace.root)
    await _rename_attempts(repo, workspace.root, name)
    if located.branch:
        branch = TargetBranch(repo=repo, name=located.branch.name, target=TARGET)
        wanted = CheckoutRequest(target=TARGET, branch=branch.name)
        folder = workspace.worktrees / wanted.name
        if folder.is_dir():
            await PlanWorktree(repo=repo, folder=folder, branch=branch, own=OwnFiles()).remove()


async def _rename_attempts(repo: Repo, root: Path, name: str) -> None:
    moves = [
        f"create {attempt_ref(f'{TARGET}-{name}', ref.task, ref.number)} {ref.commit}\ndelete {ref.name} {ref.commit}\n"
        for ref in git_read.attempts(root, TARGET)
    ]
    await repo.git("update-ref", "--no-deref", "--stdin", stdin="".join(moves).encode())
