"""Defines which files are Ralph's own, such as the plans; they are never an agent's work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ralph.workspace import RALPH


@dataclass(frozen=True)
class OwnFiles:
    """Ralph's own files in a repository, by their git paths."""

    prefix: str = ""  # the git path of the project root
    names: tuple[str, ...] = ()  # files and folders (`name/`) outside `.ralph/`, relative to the project root
    held: bool = True  # False: the plan is outside the application's repository

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}{name}" for name in (f"{RALPH}/", *self.names) if name.endswith("/"))

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(f"{self.prefix}{name}" for name in self.names if not name.endswith("/"))

    def __contains__(self, path: str) -> bool:
        return self.held and (path.startswith(self._folders) or path in self._files)

    @property
    def pathspecs(self) -> tuple[str, ...]:
        """The arguments for git that match all of them."""
        return (*(folder.rstrip("/") for folder in self._folders), *sorted(self._files)) if self.held else ()

    def on_disk(self, root: Path) -> list[str]:
        """Return the regular files among them, relative to the project root, except what a run writes for itself."""
        found: list[str] = []
        for name in (RALPH, *(name.rstrip("/") for name in self.names)) if self.held else ():
            found += _files_below(root, root / name)
        return [path for path in found if not path.startswith(RUNS)]

    def name(self, path: str) -> str:
        """Return the git path of a path below the project root."""
        return f"{self.prefix}{path}"


RUNS = tuple(f"{RALPH}/{name}/" for name in ("run", "logs", "worktrees", "screenshots", "receipts"))


def _files_below(root: Path, path: Path) -> list[str]:
    if path.is_symlink():
        return []
    if path.is_file():
        return [str(path.relative_to(root))]
    if not path.is_dir():
        return []
    return [
        found
        for child in sorted(path.iterdir())
        if not (path.name == RALPH and child.name in ("run", "logs", "worktrees", "screenshots", "receipts"))
        for found in _files_below(root, child)
    ]
