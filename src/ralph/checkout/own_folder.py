"""A folder that belongs to Ralph and that agents work in, with Ralph's own index of it.

An agent can replace the folder, remove its permissions or write the index. None of that may lead Ralph to another
folder.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralph import safe_files
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.own_index import OwnIndex
from ralph.errors import RalphError
from ralph.git.repo import Repo, failed
from ralph.process.spawn import ProgramOutput

MAX_KILLED = 3
"""Times that a git may be killed at the same work, such as for want of memory, before that is an error."""


@dataclass
class OwnFolder:
    """The folder, and git run in it with Ralph's own index."""

    repo: Repo
    folder: Path
    own: OwnFiles
    branch: str  # the branch name that the agent sees
    provided: frozenset[str] = frozenset()  # files that Ralph added to the commit's files; they never count as work
    index_file: Path | None = None  # Ralph's own index, if it is not beside the folder
    _own_index: OwnIndex | None = None
    _parent: Path | None = None  # the resolved parent folder

    @property
    def root(self) -> Path:
        """The folder in which agents and gates start."""
        return self.folder / self.repo.prefix

    @property
    def project(self) -> Path:
        """The folder with Ralph's own files; the application may be in a folder below it."""
        return self.folder / self.own.prefix

    @property
    def index(self) -> Path:
        """Ralph's own index, beside the folder."""
        return self.index_file or self.folder.with_name(f"{self.folder.name}.index")

    @property
    def _index(self) -> OwnIndex:
        self._own_index = self._own_index or OwnIndex(self.index)
        return self._own_index

    async def _with_index(
        self, *args: str, literal: bool = True, stdin: bytes = b"", borrows: bool = False
    ) -> ProgramOutput:
        """Run git with Ralph's own index and remember the index afterwards; run it again if somebody kills it."""
        store = self._git / "objects" if borrows else None
        for _ in range(MAX_KILLED):
            lock = self.index.with_name(f"{self.index.name}.lock")
            lock.unlink(missing_ok=True)  # only a killed git can have left it
            done = await self.repo.ask(
                *args, index=self.index, work_tree=self.folder, literal=literal, stdin=stdin, borrows=store
            )
            self._index.remember()
            if not done.was_killed:
                return done
        raise failed(args, self.folder, done)

    async def _insist(self, *args: str, literal: bool = True, stdin: bytes = b"") -> str:
        """Run git with Ralph's own index; on failure restore permissions, retry once, then raise an error."""
        done = await self._with_index(*args, literal=literal, stdin=stdin)
        if done.code:
            safe_files.make_writable(self.folder)
            done = await self._with_index(*args, literal=literal, stdin=stdin)
        if done.code:
            raise failed(args, self.folder, done)
        return done.out.decode(errors="surrogateescape")

    async def _repair_index(self, tree: str) -> None:
        """Rebuild Ralph's index if another process wrote it; without flags, so that git checks every file."""
        if self._index.was_changed():
            self._index.discard()
            await self._insist("read-tree", tree)

    def check_folder(self) -> None:
        """Replace a link with a folder of Ralph's own, and discard the index of what was behind the link."""
        for path in (self.folder.parent.parent, self.folder.parent, self.folder):
            if path.is_symlink():
                path.unlink()
                self._index.discard()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        safe_files.make_accessible(self.folder.parent)
        self._parent = self._parent or self.folder.parent.resolve()
        if self.folder.parent.resolve() != self._parent:
            raise RalphError(
                f"{self.folder.parent} was moved while Ralph was using it.", remedy="Run the command again."
            )
        self.folder.mkdir(exist_ok=True)

    @property
    def _git(self) -> Path:
        """The small repository that agents see."""
        return self.folder / ".git"

    def _make_writable(self) -> bool:
        """Restore permissions that an agent may have removed."""
        safe_files.make_writable(self.folder, besides={self.folder / path for path in self.provided})
        return True

    def remove(self) -> None:
        safe_files.remove_all(self.folder)
        self._index.discard()

    def _set_aside(self) -> bool:
        """Move the folder away and delete as much of it as possible; return False if it cannot be moved."""
        aside = self.folder.with_name(f"{self.folder.name}.broken-{os.urandom(4).hex()}")
        try:
            if self.folder.parent.resolve() != self._parent:
                return False
            self.folder.rename(aside)
        except OSError:
            return False
        self._index.discard()
        for left in self.folder.parent.glob(f"{self.folder.name}.broken-*"):
            with suppress(OSError):
                safe_files.remove_all(left)
        return True

    def _wipe(self) -> None:
        keep = {".git", *(path.split("/", 1)[0] for path in self.provided)}
        for entry in self.folder.iterdir():
            if entry.name not in keep:
                safe_files.remove_all(entry)
        self._index.discard()


REMEDIES = (
    (r"lfs", "Fetch the Git LFS files: git lfs install && git lfs pull. Then run again."),
    (r"filter", "Fix the filter that git names (`git config --get-regexp '^filter'`), then run again."),
    (r"promisor|could not fetch", "Some objects exist only in the remote. Make `git fetch` work, then run again."),
)
"""Remedies, by a pattern in git's message."""
FREE_SPACE = "Free some disk space or fix the permissions, then run again. Nothing is lost."


def not_made(folder: Path, error: RalphError) -> RalphError:
    said = "\n".join((error.what, *error.details)).replace(str(folder), "")
    remedy = next((remedy for pattern, remedy in REMEDIES if re.search(pattern, said)), FREE_SPACE)
    return RalphError(
        f"Ralph could not create the working copy {folder}.", details=(error.what, *error.details), remedy=remedy
    )
