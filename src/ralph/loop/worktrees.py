"""Ralph's working copies and worktrees: how large each is, and whether it can go without anything being lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph.checkout.own import OwnFiles
from ralph.checkout.working_copy import WorkingCopy
from ralph.git.repo import Repo
from ralph.loop import record as records
from ralph.loop.record import Record
from ralph.workspace import Workspace

KINDS = {".slots": "slot", ".verify": "verification", ".review": "review"}


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """One of them, at one moment."""

    name: str
    folder: Path
    size: int  # bytes
    cut_short: Record | None = None  # an attempt that a killed run left here
    holds_plan: bool = False  # a plan that a killed run left, newer than its branch

    @property
    def stays(self) -> str:
        """Why it cannot go; empty: it can."""
        record = self.cut_short
        if record:
            return f"{record.work} was cut short here; `ralph run {record.target}` continues it first"
        if self.holds_plan:
            return "it holds a plan that is newer than its branch: of a run that was killed, or not to be committed"
        return ""


def worktrees(workspace: Workspace) -> Iterator[Worktree]:
    """Those that hold a plan, then the slots and the copies for gates and reviewers."""
    under_way = records.load(workspace.records)
    for folder in sorted(workspace.worktrees.glob("*")):
        if folder.is_dir() and folder.name not in KINDS:
            yield Worktree(
                name=folder.name, folder=folder, size=size_of(folder), holds_plan=(folder / ".git").is_file()
            )
    for parent, kind in KINDS.items():
        for folder in sorted((workspace.worktrees / parent).glob("*"), key=lambda path: (len(path.name), path.name)):
            if folder.is_dir() and "." not in folder.name:
                here = (one for one in under_way if kind == "slot" and str(one.slot) == folder.name)
                name = f"{kind} {folder.name}"
                yield Worktree(name=name, folder=folder, size=size_of(folder), cut_short=next(here, None))


async def remove(worktree: Worktree, repo: Repo | None) -> str:
    """Take it away; what is kept nowhere else is kept first, under the ref that comes back."""
    kept = ""
    if repo and worktree.name.startswith("slot "):
        copy = WorkingCopy(repo=repo, folder=worktree.folder, own=OwnFiles(prefix=repo.prefix), branch="")
        kept = await copy.keep_strays()
    shutil.rmtree(worktree.folder, ignore_errors=True)
    for beside in worktree.folder.parent.glob(f"{worktree.folder.name}.*"):
        if beside.is_dir():
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.unlink(missing_ok=True)
    return kept


async def forget_removed(repo: Repo) -> None:
    """Let git forget worktrees that are gone."""
    await repo.ask("worktree", "prune")


def size_of(folder: Path) -> int:
    """What a folder takes on disk; links are not followed."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(path, name))  # noqa: PTH118 - many files
            except OSError:
                continue
            total += status.st_blocks * 512
    return total
