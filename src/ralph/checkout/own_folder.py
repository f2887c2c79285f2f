"""A folder of Ralph's own that others work in, and Ralph's own index of it.

Whoever works there can replace it, close it or write the index: none of that may lead Ralph anywhere else.
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
from ralph.process.spawn import Captured


@dataclass
class OwnFolder:
    """The folder, and git run in it with Ralph's own index."""

    repo: Repo
    folder: Path
    own: OwnFiles
    branch: str  # what whoever works here is shown as the branch
    provided: frozenset[str] = frozenset()  # what Ralph put here beside the commit's files: never anybody's work
    index_file: Path | None = None  # where Ralph's own index of it is, if not beside it
    _own_index: OwnIndex | None = None
    _parent: Path | None = None  # where the folder above it really is

    @property
    def root(self) -> Path:
        """Where work is done in it."""
        return self.folder / self.repo.prefix

    @property
    def project(self) -> Path:
        """Where Ralph's own files are in it; the application may be in a folder below."""
        return self.folder / self.own.prefix

    @property
    def index(self) -> Path:
        """Ralph's own index of it, beside the folder."""
        return self.index_file or self.folder.with_name(f"{self.folder.name}.index")

    @property
    def _index(self) -> OwnIndex:
        self._own_index = self._own_index or OwnIndex(self.index)
        return self._own_index

    async def _with_index(
        self, *args: str, literal: bool = True, stdin: bytes = b"", borrows: bool = False
    ) -> Captured:
        """Run git with Ralph's own index, which is then as Ralph left it."""
        store = self._git / "objects" if borrows else None
        self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)  # only a killed git can have left it
        done = await self.repo.ask(
            *args, index=self.index, work_tree=self.folder, literal=literal, stdin=stdin, borrows=store
        )
        self._index.remember()
        return done

    async def _insist(self, *args: str, literal: bool = True, stdin: bytes = b"") -> str:
        """The same, and it has to succeed: if need be, Ralph takes back what permissions somebody took away."""
        done = await self._with_index(*args, literal=literal, stdin=stdin)
        if done.code:
            safe_files.make_writable(self.folder)
            done = await self._with_index(*args, literal=literal, stdin=stdin)
        if done.code:
            raise failed(args, self.folder, done)
        return done.out.decode(errors="surrogateescape")

    async def _repair_index(self, tree: str) -> None:
        """If somebody else wrote Ralph's index, make it anew: without any flags, so that git looks at every file."""
        if self._index.was_changed():
            self._index.discard()
            await self._insist("read-tree", tree)

    def check_folder(self) -> None:
        """The folder is Ralph's own, and no link to somewhere else; if it was one, nothing here is anybody's work."""
        for path in (self.folder.parent.parent, self.folder.parent, self.folder):
            if path.is_symlink():
                path.unlink()
                self._index.discard()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        safe_files.make_accessible(self.folder.parent)
        self._parent = self._parent or self.folder.parent.resolve()
        if self.folder.parent.resolve() != self._parent:
            raise RalphError(f"{self.folder.parent} was moved while Ralph works there.", remedy="Run again.")
        self.folder.mkdir(exist_ok=True)

    @property
    def _git(self) -> Path:
        """The small repository for whoever works here."""
        return self.folder / ".git"

    def _make_writable(self) -> bool:
        """Perhaps somebody took away permissions."""
        safe_files.make_writable(self.folder, besides={self.folder / path for path in self.provided})
        return True

    def remove(self) -> None:
        safe_files.remove_all(self.folder)
        self._index.discard()

    def _set_aside(self) -> bool:
        """Out of the way, and gone as far as Ralph may remove it; False: it is not where it was, or cannot be moved."""
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
    (r"lfs", "Get the files of Git LFS: git lfs install && git lfs pull. Then run again."),
    (r"filter", "Correct the filter that git names (`git config --get-regexp '^filter'`), then run again."),
    (r"promisor|could not fetch", "Some objects are only in the remote: make `git fetch` work, then run again."),
)
"""What helps, by what git says."""
FREE_SPACE = "Free some space or correct the permissions, then run again. Nothing is lost."


def not_made(folder: Path, error: RalphError) -> RalphError:
    said = "\n".join((error.what, *error.details)).replace(str(folder), "")
    remedy = next((remedy for pattern, remedy in REMEDIES if re.search(pattern, said)), FREE_SPACE)
    return RalphError(
        f"The working copy {folder} could not be made.", details=(error.what, *error.details), remedy=remedy
    )
