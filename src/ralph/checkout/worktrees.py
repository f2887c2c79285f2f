"""Lists Ralph's working copies and worktrees, with their size and whether they can be removed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.checkout.kept_work import ANYWHERE, KeptWork
from ralph.checkout.own_files import OwnFiles
from ralph.config import Worktrees
from ralph.frozen import Frozen
from ralph.git.repo import Repo, nul
from ralph.stores import atomic, records
from ralph.stores.lock import Owner
from ralph.workspace import Workspace

if TYPE_CHECKING:
    from ralph.checkout.working_copy import WorkingCopy

PLAN = "plan"
MAX_NAMED = 3
AtWork = Callable[[], Owner | None]
"""Returns the run that is active; None if there is none."""


class Worktree(Frozen):
    """One working copy or worktree at one moment."""

    kind: str
    name: str
    folder: Path
    target: str = ""  # the target it was last used for; empty: unknown
    git_dir: str = ""  # the repository of its files; empty: unknown
    stays: str = ""  # why it cannot be removed
    holds: tuple[str, ...] = ()  # files of which it has the only copy
    why: str = ""  # why removing it loses nothing

    @cached_property
    def size(self) -> int:
        """Bytes on disk."""
        return size_of(self.folder)

    @cached_property
    def used(self) -> float:
        """When it was last used, in seconds since 1970."""
        beside = self.folder.with_name(f"{self.folder.name}.index")
        return max((path.stat().st_mtime for path in (beside, self.folder) if path.exists()), default=0.0)

    @property
    def number(self) -> int:
        return int(self.folder.name) if self.folder.name.isdecimal() else 0


def note_use(folder: Path, target: str, repo: Repo) -> None:
    """Record, beside a working copy, what it is used for."""
    note = {"target": target, "gitDir": str(repo.git_dir)}
    atomic.write(_note(folder), json.dumps(note).encode(), sync=False)


def _note(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.used")


def all_worktrees(workspace: Workspace) -> Iterator[Worktree]:
    """Yield the worktrees with plans, then the slots and the copies for gates and reviewers."""
    for folder in _folders(workspace.worktrees):
        if not folder.name.startswith("."):
            yield Worktree(kind=PLAN, name=folder.name, folder=folder, target=folder.name)
    kinds = {"slot": workspace.slots, "verification": workspace.clean_copies, "review": workspace.review_copies}
    for kind, parent in kinds.items():
        for folder in sorted(_folders(parent), key=lambda path: len(path.name)):
            if "." not in folder.name:
                used = _used_for(folder)
                yield Worktree(
                    kind=kind,
                    name=f"{kind} {folder.name}",
                    folder=folder,
                    target=str(used.get("target", "")),
                    git_dir=str(used.get("gitDir", "")),
                )


def _folders(parent: Path) -> list[Path]:
    """Return the subfolders of one of Ralph's folders; links are not followed."""
    if any(path.is_symlink() for path in (parent.parent, parent)):
        return []
    return sorted(path for path in parent.glob("*") if path.is_dir() and not path.is_symlink())


def _used_for(folder: Path) -> dict[str, object]:
    try:
        used = json.loads(safe_files.read(_note(folder)) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return used if isinstance(used, dict) else {}


class Judge:
    """Decides for each whether it can be removed, and why."""

    def __init__(self, workspace: Workspace, repos: Iterable[Repo], at_work: AtWork = lambda: None) -> None:
        self._workspace = workspace
        self._repos = tuple(repos)  # the first is that of the project folder, if it has one
        self._records = records.load(workspace.records)
        self._at_work = at_work()  # read after the records: a run they name is active, unless it has just ended
        if self._records and not self._at_work:
            self._records = records.load(workspace.records)
        self._kept: dict[Path, KeptWork] = {}

    async def all(self) -> list[Worktree]:
        return [await self.judge(one) for one in all_worktrees(self._workspace)]

    async def judge(self, one: Worktree) -> Worktree:
        here = next((record for record in self._records if one.kind == "slot" and record.slot == one.number), None)
        if self._at_work and here and here.target == self._at_work.target:
            return replace(one, stays=f"a run of {here.target} is working on {here.work} here")
        if self._at_work and not here:
            return replace(one, stays=f"a run of {self._at_work.target} is active")
        if here:
            return replace(one, stays=f"{here.work} was interrupted here; the next run of {here.target} resumes it")
        if one.kind not in ("slot", PLAN):
            return replace(one, why="it is not in use; the next run recreates it from a commit")
        kept = await self._kept_in(one)
        if kept is None:
            return replace(one, stays="its repository is missing, so Ralph cannot tell whether its work is kept")
        return await (self._judge_plan(one, kept) if one.kind == PLAN else self._judge_slot(one, kept))

    def repo_of(self, one: Worktree) -> Repo | None:
        known = (repo for repo in self._repos if str(repo.git_dir) == one.git_dir)
        return next(known, self._repos[0] if self._repos and not one.git_dir else None)

    async def _kept_in(self, one: Worktree) -> KeptWork | None:
        repo = self.repo_of(one)
        if repo and repo.git_dir not in self._kept:
            own = OwnFiles(prefix=repo.prefix, names=self._workspace.own_files)
            self._kept[repo.git_dir] = await KeptWork.read(repo, own)
        return self._kept[repo.git_dir] if repo else None

    async def _judge_slot(self, one: Worktree, kept: KeptWork) -> Worktree:
        copy = slot_copy(one, kept.repo, kept.own)
        if not copy.index.exists():
            return replace(one, why="it was never used")
        where, lost = await kept.where(await copy.tree_now())
        stays = f"{named(lost)} {'is' if len(lost) == 1 else 'are'} kept nowhere else" if lost else ""
        return replace(one, why=where, holds=lost, stays=stays)

    async def _judge_plan(self, one: Worktree, kept: KeptWork) -> Worktree:
        if not (one.folder / ".git").is_file():
            return replace(one, why="it contains no plan")
        everything = KeptWork(kept.repo, OwnFiles(held=False), {}, {}, {})
        tree = await _plan_tree(kept.repo, one.folder)
        if await everything.missing(tree, *ANYWHERE):
            why = "its plan is newer than the branch: a run was killed, or plans are not committed"
            return replace(one, stays=why)
        return replace(one, why="its plan is committed")


def slot_copy(one: Worktree, repo: Repo, own: OwnFiles) -> WorkingCopy:
    """Return a slot's working copy, for reading its files."""
    # every run counts the copies, but few open one here
    from ralph.checkout.working_copy import WorkingCopy
    from ralph.provision.destination import Destination
    from ralph.provision.provide import provided_so_far

    copy = WorkingCopy(repo=repo, folder=one.folder, own=own, branch="")
    copy.provided = provided_so_far(
        Destination(
            settings=Worktrees(),
            source=repo.top,
            top=one.folder,
            owner="",
            log=Path(os.devnull),
            env=repo.environment,
            prefix=repo.prefix,
        )
    )
    return copy


async def _plan_tree(repo: Repo, folder: Path) -> str:
    """Return the tree of HEAD with the files of a folder on top."""
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != ".git"]
    with tempfile.TemporaryDirectory(prefix="ralph-plan-") as scratch:
        index = Path(scratch) / "index"
        await repo.git("read-tree", "HEAD", index=index)
        await repo.git("update-index", "--add", "-z", "--stdin", stdin=nul(names), index=index, work_tree=folder)
        return (await repo.git("write-tree", index=index)).strip()


def named(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"{', '.join(paths[:MAX_NAMED])}{more}"


async def remove(one: Worktree, repo: Repo | None) -> str:
    """Remove it; if it has the only copy of any work, keep that first and return its ref."""
    kept = ""
    if repo and one.kind == "slot" and one.holds:
        kept = await slot_copy(one, repo, OwnFiles(prefix=repo.prefix)).save_strays()
    remove_copy(one.folder)
    if repo:
        await repo.ask("worktree", "prune")
    return kept


def remove_copy(folder: Path) -> None:
    """Remove a working copy, Ralph's notes beside it, and its parent folders once they are empty."""
    for path in (folder, *folder.parent.glob(f"{folder.name}.*")):
        safe_files.remove_all(path)
    with suppress(OSError):  # a folder is not empty
        folder.parent.rmdir()
        folder.parent.parent.rmdir()


def in_words(size: float) -> str:
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"


def size_of(path: str | Path) -> int:
    """Return the disk usage of a file or folder tree in bytes; links are not followed."""
    total = 0
    with suppress(OSError):
        total = os.lstat(path).st_blocks * 512
        if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - many files
            return total
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                total += size_of(entry.path)
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total
