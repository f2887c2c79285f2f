"""Which files are Ralph's own: the plans and everything beside them. They are never an agent's work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ralph.workspace import RALPH


@dataclass(frozen=True)
class OwnFiles:
    """Ralph's own files in a repository, as git names them."""

    prefix: str = ""  # the project's root as git names it
    names: tuple[str, ...] = ()  # files and folders (`name/`) outside of `.ralph/`, below that root
    held: bool = True  # False: the plan lies outside of the repository that is worked in

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
        """All of them, as arguments of git."""
        return (*(folder.rstrip("/") for folder in self._folders), *sorted(self._files)) if self.held else ()

    def on_disk(self, root: Path) -> list[str]:
        """Those that are plain files below a project's root, relative to it; not what a run writes for itself."""
        found: list[str] = []
        for name in (RALPH, *(name.rstrip("/") for name in self.names)) if self.held else ():
            found += _files_below(root, root / name)
        return [path for path in found if not path.startswith(RUNS)]

    def name(self, path: str) -> str:
        """A path below the project's root, as git names it."""
        return f"{self.prefix}{path}"


RUNS = tuple(f"{RALPH}/{name}/" for name in ("run", "logs", "worktrees", "screenshots"))


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
        if not (path.name == RALPH and child.name in ("run", "logs", "worktrees", "screenshots"))
        for found in _files_below(root, child)
    ]
