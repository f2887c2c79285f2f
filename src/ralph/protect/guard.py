"""Guards Ralph's own files: saves them before a call and restores them after it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralph import safe_files
from ralph.config import NAME
from ralph.stores import atomic
from ralph.workspace import RALPH

MAX_CLAIM = 16 << 20
UNGUARDED = frozenset({"logs", "screenshots", "worktrees", "ralph.lock", "run_state.json"})
"""Below `.ralph/`: files that Ralph writes while an agent runs, and files that decide nothing."""


@dataclass(frozen=True)
class _Known:
    data: bytes
    mode: int
    mark: tuple[int, ...]
    is_link: bool


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
    _known: dict[str, _Known] = field(default_factory=dict)

    def remember(self) -> None:
        self._known = {path: _look(path) for path in self._guarded()}

    def expect(self, path: Path) -> None:
        """Accept a change that Ralph itself has just made while an agent is watched."""
        try:
            self._known[str(path)] = _look(str(path))
        except FileNotFoundError:
            self._known.pop(str(path), None)

    def undo(self, keep_in: Path) -> tuple[Path, ...]:
        """Restore changed files and keep the agent's versions in `keep_in`; return the paths."""
        for folder in sorted(self._folders()):
            if os.path.islink(folder):
                os.unlink(folder)  # it was moved away and linked back: the files behind the link are no longer Ralph's
        changed = [Path(path) for path, known in self._known.items() if not _unchanged(path, known)]
        if self.claimable and self.claimable in changed:
            changed.remove(self.claimable)
            self.claimed = _content(self.claimable)
            _put_back(self.claimable, self._known[str(self.claimable)])
        added = [Path(path) for path in self._guarded() if path not in self._known]
        for path in (*changed, *added):
            self._copy_aside(path, keep_in)
        for path in added:
            safe_files.remove_all(path)
        for path in changed:
            _put_back(path, self._known[str(path)])
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
                yield from (path for path in _below(f"{root}/{name}".rstrip("/")) if path not in writable)
            yield from (path for path in _below(f"{root}/{RALPH}", UNGUARDED) if path not in writable)
        for path in map(str, self.extra):
            yield from _below(path)

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
        if not os.path.lexists(path):
            return
        number, root = next(((n, r) for n, r in enumerate(self.roots) if r in path.parents), (0, path.parent))
        safe_files.make_accessible(path.parent)
        target = keep_in / (str(number) if number else "") / path.relative_to(root)
        safe_files.make_folder(target.parent)
        safe_files.make_writable(path)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
        elif path.is_file() and not path.is_symlink():
            with path.open("rb") as found, safe_files.open_new(target) as copy:
                shutil.copyfileobj(found, copy)


def _below(path: str, besides: frozenset[str] = frozenset()) -> Iterator[str]:
    """Return all paths in a folder, including links and special files; or the path itself if it is not a folder."""
    try:
        if os.path.islink(path):
            raise NotADirectoryError
        entries = list(os.scandir(path))
    except NotADirectoryError:
        yield path
        return
    except FileNotFoundError:
        return
    except PermissionError:
        safe_files.make_accessible(Path(path))
        entries = list(os.scandir(path))
    for entry in entries:
        if entry.name in besides:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        else:
            yield entry.path


def _look(path: str) -> _Known:
    status = os.lstat(path)
    link = stat.S_ISLNK(status.st_mode)
    data = os.fsencode(os.readlink(path)) if link else b""
    if stat.S_ISREG(status.st_mode):
        data = Path(path).read_bytes()
    return _Known(data, status.st_mode, _mark(status), link)


def _unchanged(path: str, known: _Known) -> bool:
    """Compare a file with its saved state; restore permissions that were only reduced.

    The kernel's change time cannot be set back, so the same mark means the same bytes.
    """
    try:
        if _mark(os.lstat(path)) == known.mark:
            return True
        safe_files.make_accessible(Path(path).parent)
        now = _look(path)
        if (now.data, stat.S_IFMT(now.mode)) != (known.data, stat.S_IFMT(known.mode)) or now.mode & ~known.mode:
            return False
        if now.mode != known.mode:  # permissions were removed, as `chmod -R a-w` does to everything
            os.chmod(path, stat.S_IMODE(known.mode))
    except OSError:
        return False
    return True


def _put_back(path: Path, known: _Known) -> None:
    """Restore a file by renaming, so that it is never missing."""
    safe_files.make_accessible(path.parent)
    if known.is_link or path.is_dir():
        safe_files.remove_all(path)
    if known.is_link:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.fsdecode(known.data))
    else:
        atomic.write(path, known.data)
        path.chmod(stat.S_IMODE(known.mode))


def _content(path: Path) -> bytes:
    """Return the content of a regular file of reasonable size; b"" for anything else."""
    try:
        status = path.lstat()
        return path.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_CLAIM else b""
    except OSError:
        return b""


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
