"""The integration worktree: holds a target's branch during a run, with only the plan's files in it.

It is a worktree of the person's repository, so git refuses to check the branch out elsewhere during the run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralph import safe_files
from ralph.checkout.branch import TargetBranch
from ralph.checkout.own_files import OwnFiles
from ralph.errors import RalphError
from ralph.git.objects import GITLINK
from ralph.git.repo import Repo
from ralph.git.trees import EXECUTABLE, LINK, blobs, file_entry, files_below, with_entries
from ralph.stores import atomic
from ralph.workspace import is_inside

IN_THE_WAY = re.compile(r"'refs/heads/(\S+)' exists; cannot create 'refs/heads/(\S+)'")
NEW, OLD = ".new", ".old"
ELSEWHERE = re.compile(r"already (?:checked out|used by worktree) at '(.+)'")


@dataclass
class PlanWorktree:
    """A target's plan files on disk, and their branch."""

    repo: Repo
    folder: Path
    branch: TargetBranch
    own: OwnFiles
    committed: bool = True  # the plan is part of the branch; otherwise it stays here between runs
    is_new: bool = False  # the branch was just created
    was_left: bool = False  # a killed run left it

    @property
    def root(self) -> Path:
        """The project root in it."""
        return self.folder / self.own.prefix

    async def open(self, *, known_tip: str = "") -> None:
        """Attach the branch and load the plan from it, unless a killed run left a newer plan here.

        `known_tip`: the branch tip at the time of that plan.
        """
        self.is_new = not await self.branch.tip()
        self._remove_links()
        was_here = (self.folder / ".git").is_file() and await self._attach()
        self.was_left = was_here and self.committed
        if was_here:
            self._remove_temporary()
        else:
            await self._add()
        if not was_here or (self.committed and not known_tip):
            await self.load(await self.branch.plan_tip())

    def _remove_temporary(self) -> None:
        """Remove temporary files of a killed run; in a plan that is a folder, they would count as plan files."""
        for path in self.own.on_disk(self.root):
            if atomic.is_temporary(Path(path).name):
                (self.root / path).unlink(missing_ok=True)

    async def _attach(self) -> bool:
        """Attach the branch to an existing folder; return False if the folder must be created again."""
        holder = await self.repo.holder(self.branch.name)
        if holder == self.folder.resolve():
            return True
        if self._is_released and not self.is_new:
            if holder:
                raise _elsewhere(self.branch.name, str(holder))
            self.committed = False  # it is the only copy of the plan, even if plans are to be committed from now on
            return self._point_at(f"ref: {self.branch.ref}")
        await self.remove()
        return False

    def _point_at(self, head: str) -> bool:
        """Change HEAD by writing git's own file; a worktree without files needs nothing else."""
        if not self._head.is_file():
            return False
        atomic.write(self._head, f"{head}\n".encode(), sync=False)
        return True

    @property
    def _head(self) -> Path:
        """HEAD, found through the repository: agents can change the pointer in the folder."""
        wanted = self.folder.parent.resolve() / self.folder.name / ".git"
        for pointer in (self.repo.git_dir / "worktrees").glob("*/gitdir"):
            with suppress(OSError):
                if Path(pointer.read_text().strip()) == wanted:
                    return pointer.parent / "HEAD"
        return self.repo.git_dir / "worktrees" / self.folder.name / "HEAD"

    @property
    def _is_released(self) -> bool:
        return self._head.is_file() and not self._head.read_text().startswith("ref: ")

    async def _add(self) -> None:
        safe_files.remove_all(self.folder)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        if any((self.repo.git_dir / "worktrees").glob("*")):  # one of them may be this folder, which is gone
            await self.repo.ask("worktree", "prune")
        start = [self.branch.name] if not self.is_new else [self.repo.opened_at]
        create = ["-b", self.branch.name] if self.is_new else []
        args = ("worktree", "add", "--quiet", "--no-checkout", *create, str(self.folder), *start)
        done = await self.repo.ask(*args)
        if done.code:
            message = done.err.decode(errors="replace")
            found = ELSEWHERE.search(message)
            raise _elsewhere(self.branch.name, found[1]) if found else _not_made(self.folder, message)

    async def load(self, commit: str) -> None:
        """Replace the plan's files by those of a commit, byte for byte and all at once: a kill leaves no half."""
        wanted = await files_below(self.repo, commit, self.own.pathspecs)
        content = await blobs(self.repo, {entry.name for entry in wanted.values() if entry.mode != GITLINK})
        new, old = self._beside(NEW), self._beside(OLD)
        new.mkdir()
        (new / ".git").write_text(f"gitdir: {self._head.parent.resolve()}\n")
        for path, entry in wanted.items():
            if entry.mode != GITLINK:
                self._write(new, path, entry.mode, content[entry.name])
        self.folder.rename(old)  # until the next line the plan is read from the branch
        new.rename(self.folder)
        safe_files.remove_all(old)

    def _beside(self, suffix: str) -> Path:
        """Return a path next to the folder; what a killed run left there is removed."""
        path = self.folder.with_name(f".{self.folder.name}{suffix}")
        safe_files.remove_all(path)
        return path

    def _write(self, top: Path, path: str, mode: str, data: bytes) -> None:
        if not is_inside(path) or ".git" in path.lower().split("/"):
            raise RalphError(f"{self.branch.name} contains the path {path!r}, which git refuses to check out.")
        place = safe_files.own_folder(top, Path(path).parent) / Path(path).name
        if mode == LINK:
            place.symlink_to(os.fsdecode(data))
            return
        with safe_files.open_new(place) as file:
            file.write(data)
        if mode == EXECUTABLE:
            place.chmod(place.stat().st_mode | 0o111)

    def carry(self, source: Path, paths: Iterable[str], *, over: bool) -> list[str]:
        """Copy files from the person's checkout; return those that differed.

        `over`: also replace files that the branch has, and delete those that the person has deleted.
        """
        carried = []
        for path in paths:
            theirs, ours = source / path, self.root / path
            if over and not os.path.lexists(theirs):
                ours.unlink(missing_ok=True)
            if not theirs.is_file() or theirs.is_symlink() or (ours.exists() and not over):
                continue
            data = theirs.read_bytes()
            if not ours.is_file() or ours.read_bytes() != data:
                safe_files.own_folder(self.folder, ours.parent.relative_to(self.folder))
                safe_files.remove_all(ours)
                atomic.write(ours, data, sync=False)
                carried.append(path)
        return carried

    def release(self) -> None:
        """Detach from the branch and keep the files, for plans that are not committed."""
        self._point_at(self.branch.expected)

    def _remove_links(self) -> None:
        """Remove links, so that the folder is really Ralph's own."""
        for path in (self.folder.parent, self.folder):
            if path.is_symlink():
                path.unlink()

    async def remove(self) -> None:
        """Detach from the branch and delete the folder; everything in it is on the branch."""
        self._remove_links()
        done = await self.repo.ask("worktree", "remove", "--force", "--force", str(self.folder))
        safe_files.remove_all(self.folder)
        if done.code:  # then git still knows the folder
            await self.repo.ask("worktree", "prune")

    async def tree_with(self, base: str, paths: Iterable[str]) -> str:
        """Return a commit's tree with the current versions of these files; missing ones are removed."""
        entries = {self.own.name(path): file_entry(self.repo, self.root / path) for path in paths}
        return await with_entries(self.repo, await self.repo.tree_of(base), entries)

    def shown(self) -> dict[str, Path]:
        """Return all of the plan's files by git path, to show them in a working copy."""
        return {self.own.name(path): self.root / path for path in self.own.on_disk(self.root)}


def _elsewhere(branch: str, folder: str) -> RalphError:
    return RalphError(
        f"The branch {branch} is checked out in {folder}, so no work can land on it.",
        remedy=f"Check out another branch there: git -C {folder} switch -",
    )


def _not_made(folder: Path, message: str) -> RalphError:
    in_the_way = IN_THE_WAY.search(message)
    if in_the_way:
        return RalphError(
            f"Git cannot create the branch {in_the_way[2]} while the branch {in_the_way[1]} exists.",
            remedy=f"Rename that branch: git branch -m {in_the_way[1]} {in_the_way[1].replace('/', '-')}-old",
        )
    return RalphError(
        f"Ralph could not create the worktree {folder}.",
        details=tuple(message.strip().splitlines()[:5]),
        remedy="Free some disk space or fix the permissions, then run again. Nothing is lost.",
    )
