"""The files no agent may touch: Ralph's own are remembered before a call and put back after it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralph.config import NAME
from ralph.stores import atomic
from ralph.workspace import RALPH

LARGEST_CLAIM = 16 << 20
UNGUARDED = frozenset({"logs", "screenshots", "worktrees", "ralph.lock", "run_state.json"})
"""Below `.ralph/`: what Ralph itself writes while an agent runs, and what decides nothing."""


@dataclass(frozen=True)
class _Known:
    data: bytes
    mode: int
    mark: tuple[int, ...]
    is_link: bool


@dataclass(eq=False)
class Guard:
    """Remembers Ralph's files in one or more project folders, then notices and undoes changes to them."""

    roots: tuple[Path, ...]
    files: tuple[str, ...] = (NAME,)  # Ralph's files outside of `.ralph/`, below each root
    writable: frozenset[Path] = frozenset()
    claimable: Path | None = None  # put back like the others, but writing there is no wrong
    extra: tuple[Path, ...] = ()  # a person's files and folders that are protected as well
    claimed: bytes | None = None  # what was written there
    _known: dict[Path, _Known] = field(default_factory=dict)

    def remember(self) -> None:
        self._known = {path: _look(path) for path in self._guarded()}

    def expect(self, path: Path) -> None:
        """Ralph itself has just written or removed a file while somebody is watched."""
        if path.exists():
            self._known[path] = _look(path)
        else:
            self._known.pop(path, None)

    def undo(self, keep_in: Path) -> tuple[Path, ...]:
        """Put back what changed; the agent's version is kept, and nothing a person made is lost with it."""
        for link in {link for path in self._known if (link := self._link_above(path))}:
            link.unlink()  # a folder that was moved away and linked back: what is behind it is not ours any more
        changed = [path for path, known in self._known.items() if not _unchanged(path, known)]
        if self.claimable in changed:
            changed.remove(self.claimable)
            self.claimed = _content(self.claimable)
            _put_back(self.claimable, self._known[self.claimable])
        added = [path for path in self._guarded() if path not in self._known]
        for path in (*changed, *added):
            self._copy_aside(path, keep_in)
        for path in added:
            _remove(path)
        for path in changed:
            _put_back(path, self._known[path])
        return tuple(sorted((*changed, *added)))

    def is_extra(self, path: Path) -> bool:
        """Whether a path is a person's, and not Ralph's own."""
        return any(path == extra or extra in path.parents for extra in self.extra)

    def claims(self) -> tuple[Path, ...]:
        return (self.claimable,) if self.claimable and self.claimed is not None else ()

    def _guarded(self) -> Iterator[Path]:
        for root in self.roots:
            yield from (root / name for name in self.files if os.path.lexists(root / name))
            yield from (path for path in _files(root / RALPH) if path not in self.writable)
        for path in self.extra:
            if os.path.lexists(path):
                yield from _below(path)

    def _link_above(self, path: Path) -> Path | None:
        root = next((root for root in self.roots if root in path.parents), path.parent)
        above = [parent for parent in path.parents if root in parent.parents]
        return next((parent for parent in reversed(above) if parent.is_symlink()), None)

    def _copy_aside(self, path: Path, keep_in: Path) -> None:
        if not os.path.lexists(path):
            return
        number, root = next(((n, r) for n, r in enumerate(self.roots) if r in path.parents), (0, path.parent))
        target = keep_in / (str(number) if number else "") / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
        elif path.is_file() and not path.is_symlink():
            shutil.copyfile(path, target)


def _files(ralph: Path) -> Iterator[Path]:
    if not ralph.is_dir() or ralph.is_symlink():
        if os.path.lexists(ralph):
            yield ralph
        return
    for entry in _sorted_entries(ralph):
        if entry.name not in UNGUARDED:
            yield from _below(entry)


def _below(entry: Path) -> Iterator[Path]:
    if entry.is_dir() and not entry.is_symlink():
        for inner in _sorted_entries(entry):
            yield from _below(inner)
    else:
        yield entry


def _sorted_entries(folder: Path) -> Iterable[Path]:
    return sorted(folder.iterdir())


def _look(path: Path) -> _Known:
    status = path.lstat()
    link = stat.S_ISLNK(status.st_mode)
    data = os.fsencode(path.readlink()) if link else path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    return _Known(data, status.st_mode, _mark(status), link)


def _unchanged(path: Path, known: _Known) -> bool:
    """The kernel's change time cannot be set back: the same mark means the same bytes."""
    try:
        if _mark(path.lstat()) == known.mark:
            return True
        now = _look(path)
    except OSError:
        return False
    return (now.data, now.mode) == (known.data, known.mode)


def _put_back(path: Path, known: _Known) -> None:
    """A file takes its place by a rename, so that at no instant it is missing."""
    if known.is_link or path.is_dir():
        _remove(path)
    if known.is_link:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.fsdecode(known.data))
    else:
        atomic.write(path, known.data)
        path.chmod(stat.S_IMODE(known.mode))


def _content(path: Path) -> bytes:
    """What an agent wrote, if it is a file of a sensible size."""
    try:
        status = path.lstat()
        return path.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_CLAIM else b""
    except OSError:
        return b""


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
