"""Files in Ralph's own folders, opened without following a link: an agent may have put one there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ralph import limits
from ralph.errors import RalphError

OWN = (".ralph", ".ralph-sessions")
WORKTREES = "worktrees"  # below it are checkouts, which are the project's
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_BYTES = limits.OWN
MAX_PATH = 4096 - 256  # bytes of a path that the system takes, with room for one more name
NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def folder(path: Path) -> Iterator[int]:
    """Open a folder, and create it if it is missing; from `.ralph` on, follow no link on the way to it.

    A link below `.ralph` is removed, because it would stop every later run; its target stays.
    """
    base, parts = _split_at_own(path)
    handle = _base(base, path)
    theirs = _theirs(parts)
    try:
        for number, part in enumerate(parts):
            if number and number not in theirs:  # only the project's own `.ralph` may be a person's link
                _remove_link(part, handle)
            base /= part
            inner = _enter(handle, part, base, follows=number in theirs)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Create one of Ralph's own folders and its parents."""
    with folder(path):
        pass


def own_folder(top: Path, path: str | Path) -> Path:
    """Create a real folder at a path below `top`; remove a link or a file in its place, but not a link's target."""
    for part in Path(path).parts:
        make_accessible(top)
        top /= part
        if top.is_symlink() or not top.is_dir():
            remove_all(top)
            top.mkdir()
    make_accessible(top)
    return top


def open_new(path: Path, *, buffering: int = -1) -> BinaryIO:
    """Open a new file for writing; remove anything with its name, which only an agent can have put there."""
    with folder(path.parent) as handle, _errors_named(path):
        remove(path.name, handle)
        descriptor = os.open(path.name, os.O_WRONLY | NEW, 0o644, dir_fd=handle)
    return os.fdopen(descriptor, "wb", buffering)


def open_append(path: Path) -> int:
    """Return a descriptor for reading and appending; remove a link or a pipe in the file's place first."""
    with folder(path.parent) as handle, _errors_named(path):
        with suppress(FileNotFoundError):
            mode = os.stat(path.name, dir_fd=handle, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                os.unlink(path.name, dir_fd=handle)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path.name, flags, 0o644, dir_fd=handle)


def open_old(path: Path) -> BinaryIO:
    """Open a regular file for reading; raise an OSError for a link, a pipe or a folder, without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def beginning(path: Path, size: int) -> bytes:
    """The first bytes of a regular file or of what a link leads to; raise an OSError for a pipe, without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        return file.read(size)


def from_home(path: str) -> Path:
    """Return a path as a person wrote it, with `~` as their home; it stays as it is if there is no such home."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, or raise an OSError: a single write may take only a part, such as on a disk that fills up."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read(path: Path, max_bytes: int = MAX_BYTES) -> bytes | None:
    """The content of a plain file of at most `max_bytes` bytes; None for anything else, such as a link or a pipe."""
    try:
        try:
            file = open_old(path)
        except PermissionError:
            make_writable(path)
            file = open_old(path)
        with file:
            data = file.read(max_bytes + 1)
    except OSError:
        return None
    return data if len(data) <= max_bytes else None


def is_file(path: Path) -> bool:
    """Return whether the path is a regular file, not a link to one."""
    return path.is_file() and not path.is_symlink()


def remove(name: str, handle: int) -> None:
    """Remove anything with this name in a folder; if it is a link, keep its target."""
    try:
        os.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):  # macOS says the second of a folder
        shutil.rmtree(name, dir_fd=handle)


def remove_all(path: Path) -> None:
    """Remove a file, a link or a folder, even without write permission; raise an error if something remains."""
    try:
        _remove_all(path)
    except PermissionError:
        make_writable(path)
        _remove_all(path)
    except (RecursionError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            raise
        _remove_deep(path)


def _remove_all(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _remove_deep(top: Path) -> None:
    """Remove folders nested deeper than a path can be long: move each folder up before removing its contents."""
    number = 0
    while names := [entry.name for entry in os.scandir(top)]:
        for name in names:
            path = top / name
            if path.is_symlink() or not path.is_dir():
                path.unlink()
                continue
            for inner in list(os.scandir(path)):
                number += 1
                os.rename(inner.path, top / f".deep-{number}-{os.getpid()}")  # noqa: PTH104 - beside scandir
            path.rmdir()
    top.rmdir()


def make_writable(top: Path, besides: Collection[Path] = ()) -> None:
    """Give the owner every permission on a folder and everything below it except `besides`; follow no link.

    Skip files with other hard links, which may be anywhere, and files of other users.
    """
    skipped, waiting = set(map(str, besides)), [str(top)]
    while waiting:
        path = waiting.pop()
        if len(os.fsencode(path)) >= MAX_PATH:
            continue
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                _allow(path, status, 0o700)
                with os.scandir(path) as entries:
                    waiting += [entry.path for entry in entries if entry.path not in skipped]
            elif stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                _allow(path, status, 0o600)


def is_closed(top: Path) -> bool:
    """Return whether the owner may not write to a folder or to an entry directly in it; a cheap check."""
    with os.scandir(top) as entries:
        modes = [top.stat().st_mode, *(entry.stat(follow_symlinks=False).st_mode for entry in entries)]
    return any(not stat.S_ISLNK(mode) and not mode & stat.S_IWUSR for mode in modes)


def make_accessible(folder: Path) -> None:
    """Give the owner every permission on one folder."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode):
            _allow(str(folder), status, 0o700)


def _allow(path: str, status: os.stat_result, wanted: int) -> None:
    if status.st_mode & wanted != wanted:
        os.chmod(path, stat.S_IMODE(status.st_mode) | wanted)  # noqa: PTH101 - as fast as the walk


def _split_at_own(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Split a path into the trusted folder and the parts below it, each of which is checked."""
    parts = path.parts
    at = next((index for index, part in enumerate(parts) if part in OWN), len(parts))
    return Path(*parts[:at]), parts[at:]


def _theirs(parts: tuple[str, ...]) -> range:
    """Return which parts are the project's: those in a checkout below `worktrees`, up to Ralph's own folder in it."""
    if parts[1:2] != (WORKTREES,):
        return range(0)
    begin = 4 if parts[2:3] and parts[2].startswith(".") else 3  # `worktrees/auth`, or `worktrees/.slots/1`
    return range(begin, next((n for n, part in enumerate(parts) if n >= begin and part in OWN), len(parts)))


def _base(base: Path, path: Path) -> int:
    with _errors_named(path):
        base.mkdir(parents=True, exist_ok=True)
        return os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _remove_link(name: str, handle: int) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=handle)


def _enter(handle: int, name: str, path: Path, *, follows: bool) -> int:
    try:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
        return os.open(name, FOLDER & ~os.O_NOFOLLOW if follows else FOLDER, dir_fd=handle)
    except OSError as error:
        raise _in_the_way(path, error) from None


def _in_the_way(path: Path, error: OSError) -> RalphError:
    if not path.is_symlink():
        return _failed(path, error)
    return RalphError(
        f"{path} is a link. Ralph writes only to real folders of the project.",
        remedy="Remove the link, then run again.",
    )


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(path, error) from None


def _failed(path: Path, error: OSError) -> RalphError:
    return RalphError(
        f"Ralph could not create {path}: {error.strerror}.",
        remedy="Free some disk space or fix the folder's permissions, then run again.",
    )
