"""Files as they were at one moment: the only rules about what counts as changed, and about putting it back.

A *missing* file is None. A *link* is itself, never what it leads to. Of a *special* file (pipe, device, socket) only
the type counts. A *huge* file is not read: its size shows that it is not the saved one. A file that only *lost
permissions* is not changed; it gets them back. A file is put back by renaming, so it is never missing or half written.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.stores import atomic


class SavedFile(Frozen):
    """A file, a link or a special file."""

    data: bytes = b""  # the content of a file, the target of a link
    size: int
    kind: int = stat.S_IFREG
    permissions: int | None = None  # None: unknown; those that it has now are kept
    mark: tuple[int, ...] = field(default=(), compare=False)  # the same mark means the same file and content

    @property
    def is_file(self) -> bool:
        return self.kind == stat.S_IFREG

    @property
    def is_text(self) -> bool:
        """Whether it is a file whose content was read."""
        return self.is_file and self.size == len(self.data)

    @property
    def is_link(self) -> bool:
        return self.kind == stat.S_IFLNK


NOTHING = SavedFile(size=0)
"""Known of a file that was not there: if a huge one is there now, it is not read."""


def saved(data: bytes | None, permissions: int | None = None) -> SavedFile | None:
    """Return a file with this content; None if there is none."""
    return None if data is None else SavedFile(data=data, size=len(data), permissions=permissions)


def save(path: str | Path, known: SavedFile | None = None) -> SavedFile | None:
    """Return what is at a path; None if nothing is. What has not changed since `known` is not read again."""
    try:
        status = os.lstat(path)
        mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
        if known and known.mark == mark:  # no program can set back the change time
            return known
        kind, data = stat.S_IFMT(status.st_mode), b""
        if kind == stat.S_IFLNK:
            data = os.fsencode(os.readlink(path))
        elif kind == stat.S_IFREG and (not known or status.st_size <= max(known.size, safe_files.MAX_BYTES)):
            with safe_files.open_old(Path(path)) as file:
                data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    size = status.st_size if kind == stat.S_IFREG else len(data)
    return SavedFile(data=data, size=size, kind=kind, permissions=stat.S_IMODE(status.st_mode), mark=mark)


def is_unchanged(path: str | Path, before: SavedFile | None) -> bool:
    """Compare a file with its saved state; restore permissions that were only removed."""
    if before is None:
        return not os.path.lexists(path)
    try:
        now = _readable(path, before)
        if now is before:
            return True
        if now is None or (now.kind, now.size, now.data) != (before.kind, before.size, before.data):
            return False
        if before.permissions is None or now.permissions == before.permissions:
            return True
        if (now.permissions or 0) & ~before.permissions:
            return False
        os.chmod(path, before.permissions)  # `chmod -R a-w` does this to everything
    except OSError:
        return False
    return True


def _readable(path: str | Path, before: SavedFile) -> SavedFile | None:
    """Return what is at a path, also if its owner may not read it any more."""
    try:
        return save(path, before)
    except PermissionError:
        safe_files.make_accessible(Path(path).parent)
        if safe_files.is_file(Path(path)):
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | stat.S_IRUSR)
        return save(path, before)


def restore(path: Path, before: SavedFile | None) -> None:
    """Put a file back, whatever is there now; nothing that a link there leads to is touched."""
    safe_files.make_accessible(path.parent)
    if before is None or not before.is_file or (path.is_dir() and not path.is_symlink()):
        safe_files.remove_all(path)
    if before is None:
        return
    if before.is_file:
        atomic.write(path, before.data, permissions=before.permissions)
        return
    safe_files.make_folder(path.parent)
    if before.is_link:
        path.symlink_to(os.fsdecode(before.data))
    elif before.kind == stat.S_IFIFO:
        os.mkfifo(path, before.permissions or 0o600)


def copy_aside(path: Path, target: Path) -> None:
    """Keep what is at a path for the person: a file, or the files in a folder; links and special files are left out."""
    safe_files.make_accessible(path.parent)
    safe_files.make_writable(path)
    for found in below(str(path)):
        try:
            file = safe_files.open_old(Path(found))
        except OSError:
            continue
        with file, safe_files.open_new(target / os.path.relpath(found, path)) as copy:
            shutil.copyfileobj(file, copy)


def below(path: str, besides: frozenset[str] = frozenset()) -> Iterator[str]:
    """Return all paths in a folder, including links and special files; or the path itself if it is not a folder."""
    try:
        if os.path.islink(path):
            raise NotADirectoryError
        entries = list(os.scandir(path))
    except NotADirectoryError:
        if os.path.lexists(path):
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
            yield from below(entry.path)
        else:
            yield entry.path
