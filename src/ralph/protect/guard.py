"""Guards Ralph's own files: saves them before a call and restores them after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralph import safe_files
from ralph.config import NAME
from ralph.protect.snapshot import SavedFile, below, copy_aside, is_unchanged, restore, save
from ralph.workspace import RALPH

UNGUARDED = frozenset({"logs", "screenshots", "worktrees", "receipts", "ralph.lock", "run_state.json"})
"""Below `.ralph/`: files that Ralph writes while an agent runs, and files that decide nothing."""


@dataclass(eq=False)
class Guard:
    """Saves Ralph's files in one or more project folders, then detects and undoes changes to them."""

    roots: tuple[Path, ...]
    files: tuple[str, ...] = (NAME,)  # Ralph's files and folders outside `.ralph/`, below each root
    writable: frozenset[Path] = frozenset()
    claimable: Path | None = None  # restored like the others, but writing it is not a violation
    extra: tuple[Path, ...] = ()  # the person's files and folders that are protected as well
    claimed: bytes | None = None  # what the agent wrote to `claimable`
    # by str paths, for speed: this runs before and after each gate
    _known: dict[str, SavedFile] = field(default_factory=dict)

    def remember(self) -> None:
        self._known = {path: saved for path in self._guarded() if (saved := save(path))}

    def expect(self, path: Path) -> None:
        """Accept a change that Ralph itself has just made while an agent is watched."""
        if saved := save(path):
            self._known[str(path)] = saved
        else:
            self._known.pop(str(path), None)

    def undo(self, keep_in: Path) -> tuple[Path, ...]:
        """Restore changed files and keep the agent's versions in `keep_in`; return the paths."""
        for folder in sorted(self._folders()):
            if os.path.islink(folder):
                os.unlink(folder)  # it was moved away and linked back: the files behind the link are no longer Ralph's
        changed = [Path(path) for path, known in self._known.items() if not is_unchanged(path, known)]
        if self.claimable and self.claimable in changed:
            changed.remove(self.claimable)
            self.claimed = safe_files.read(self.claimable) or b""
            restore(self.claimable, self._known[str(self.claimable)])
        added = [Path(path) for path in self._guarded() if path not in self._known]
        for path in (*changed, *added):
            self._copy_aside(path, keep_in)
        for path in added:
            safe_files.remove_all(path)
        for path in changed:
            restore(path, self._known[str(path)])
        return tuple(sorted((*changed, *added)))

    def is_extra(self, path: Path) -> bool:
        """Return whether a path is the person's, not Ralph's own."""
        return any(path == extra or extra in path.parents for extra in self.extra)

    def claims(self) -> tuple[Path, ...]:
        return (self.claimable,) if self.claimable and self.claimed is not None else ()

    def _guarded(self) -> Iterator[str]:
        writable = {str(path) for path in self.writable}
        for root in map(str, self.roots):
            for name in self.files:
                yield from (path for path in below(f"{root}/{name}".rstrip("/")) if path not in writable)
            yield from (path for path in below(f"{root}/{RALPH}", UNGUARDED) if path not in writable)
        for path in map(str, self.extra):
            yield from below(path)

    def _folders(self) -> set[str]:
        """Return the folders of the known files, below the innermost root of each."""
        roots = {str(root) for root in self.roots}
        folders: set[str] = set()
        for path in self._known:
            folder = os.path.dirname(path)
            above = []
            while folder not in roots and folder not in folders and len(folder) > 1:
                above.append(folder)
                folder = os.path.dirname(folder)
            if folder in roots or folder in folders:
                folders.update(above)
        return folders

    def _copy_aside(self, path: Path, keep_in: Path) -> None:
        number, root = next(((n, r) for n, r in enumerate(self.roots) if r in path.parents), (0, path.parent))
        copy_aside(path, keep_in / (str(number) if number else "") / path.relative_to(root))
