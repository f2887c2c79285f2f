"""Ralph's worktrees: what is in each, and whether it can go without anything being lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from ralph.errors import RalphError
from ralph.git.answers import Status
from ralph.git.repo import Repo, open_repo
from ralph.loop import record as records
from ralph.loop.home import sweep
from ralph.loop.place import Place
from ralph.loop.record import Record
from ralph.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """One of them, at one moment."""

    name: str
    folder: Path
    repo: Repo
    status: Status
    reachable: bool  # whether a branch, a tag or a ref of Ralph's has the commit it stands on
    cut_short: Record | None = None  # an attempt that a killed run left here

    @property
    def uncommitted(self) -> tuple[str, ...]:
        return (*self.status.changed, *self.status.unmerged, *self.status.untracked)

    @property
    def stays(self) -> str:
        """Why it cannot go; empty: it can."""
        if self.cut_short:
            return (
                f"{self.cut_short.work} was cut short here: `ralph run {self.cut_short.target}` goes on with it first"
            )
        if not self.reachable:
            head = self.status.head[:10]
            return f"its commit {head} is on no branch: `git branch NAME {head}` keeps it"
        others = [path for path in self.status.untracked if path.endswith("/")]
        return f"it holds another repository: {others[0]}" if others else ""


async def worktrees(workspace: Workspace) -> AsyncIterator[Worktree]:
    """Those of features, then the slots."""
    under_way = records.load(workspace.records)
    for folder in _folders(workspace):
        in_slot = folder.parent == workspace.slots
        name = f"slot {folder.name}" if in_slot else folder.name
        repo = await open_repo(folder)
        status = await repo.status()
        here = (record for record in under_way if _is_in(record, folder, in_slot=in_slot))
        yield Worktree(
            name=name,
            folder=folder,
            repo=repo,
            status=status,
            reachable=await _is_kept(repo, status.head),
            cut_short=next(here, None),
        )


async def remove(worktree: Worktree, outside: Repo) -> str:
    """Take it away; what is not committed is kept first, under the ref that comes back."""
    place = Place(repo=worktree.repo, branch=worktree.status.branch, root=worktree.folder, records=None)
    kept = await place.keep_strays()
    if kept:
        await sweep(place)
    await outside.git("worktree", "remove", str(worktree.folder))
    return kept


def _folders(workspace: Workspace) -> list[Path]:
    own = [path for path in workspace.worktrees.glob("*") if path != workspace.slots]
    slots = sorted(workspace.slots.glob("*"), key=lambda path: (len(path.name), path.name))
    return [path for path in (*sorted(own), *slots) if (path / ".git").exists()]


def _is_in(record: Record, folder: Path, *, in_slot: bool) -> bool:
    if in_slot:
        return str(record.slot) == folder.name
    return not record.slot and bool(record.root) and Path(record.root).is_relative_to(folder)


async def _is_kept(repo: Repo, head: str) -> bool:
    if not head:
        return False
    kept = ("refs/heads", "refs/tags", "refs/remotes", "refs/ralph")
    return bool(await repo.git("for-each-ref", "--count=1", f"--contains={head}", *kept))


async def opened(workspace: Workspace) -> Repo:
    """The repository they belong to."""
    try:
        return await open_repo(workspace.root)
    except RalphError as error:
        raise RalphError(f"There are no worktrees here: {error.what}", remedy=error.remedy) from None
