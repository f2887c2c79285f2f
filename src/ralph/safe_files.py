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

from ralph.errors import RalphError

OWN = (".ralph", ".ralph-sessions")
WORKTREES = "worktrees"  # below it lie checkouts, which are the project's
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_PATH = 4096 - 256  # bytes of a path that the system takes, with room for one more name
NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def folder(path: Path) -> Iterator[int]:
    """A handle on a folder, made where it is missing; from `.ralph` on, no link is followed on the way to it.

    A link that is planted below `.ralph` goes, or it would stop every later run; what it leads to stays.
    """
    base, parts = _trusted(path)
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
    """Make a folder of ours with those above it."""
    with folder(path):
        pass


def own_folder(top: Path, path: str | Path) -> Path:
    """A real folder at a path below `top`: a link or a file in its place goes, and what a link leads to stays."""
    for part in Path(path).parts:
        top /= part
        if top.is_symlink() or not top.is_dir():
            remove_all(top)
            top.mkdir()
    return top


def open_new(path: Path, *, buffering: int = -1) -> BinaryIO:
    """A new file to write; whatever bears its name is removed, for only an agent can have put it there."""
    with folder(path.parent) as handle, _told(path):
        remove(path.name, handle)
        descriptor = os.open(path.name, os.O_WRONLY | NEW, 0o644, dir_fd=handle)
    return os.fdopen(descriptor, "wb", buffering)


def open_append(path: Path) -> int:
    """A descriptor of a file to read and to append to; a link or a pipe in its place is removed first."""
    with folder(path.parent) as handle, _told(path):
        with suppress(FileNotFoundError):
            mode = os.stat(path.name, dir_fd=handle, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                os.unlink(path.name, dir_fd=handle)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path.name, flags, 0o644, dir_fd=handle)


def open_old(path: Path) -> BinaryIO:
    """A plain file to read; a link, a pipe or a folder in its place is an error, and nobody waits for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a plain file", str(path))
    return os.fdopen(descriptor, "rb")


def is_file(path: Path) -> bool:
    """Whether a plain file bears this name itself."""
    return path.is_file() and not path.is_symlink()


def remove(name: str, handle: int) -> None:
    """Take away whatever bears a name in a folder, and nothing that it leads to."""
    try:
        os.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):  # macOS says the second of a folder
        shutil.rmtree(name, dir_fd=handle)


def remove_all(path: Path) -> None:
    """Remove a file, a link or a folder, also one whose folders forbid it; an error says that something stays."""
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
    """Remove folders in folders that no path is long enough for: each is brought up before what is in it goes."""
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
    """Give the owner every permission on a folder, and on all below it but `besides`; no link is followed.

    A file that has other names is left alone: they may be anywhere. So is what belongs to somebody else.
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
    """Whether the owner may not write a folder, or something right in it: a look that costs almost nothing."""
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


def _trusted(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder where looking at each step begins, and the steps from there."""
    parts = path.parts
    at = next((index for index, part in enumerate(parts) if part in OWN), len(parts))
    return Path(*parts[:at]), parts[at:]


def _theirs(parts: tuple[str, ...]) -> range:
    """Which steps are the project's: those in a checkout below `worktrees`, up to Ralph's own folder in it."""
    if parts[1:2] != (WORKTREES,):
        return range(0)
    begin = 4 if parts[2:3] and parts[2].startswith(".") else 3  # `worktrees/auth`, or `worktrees/.slots/1`
    return range(begin, next((n for n, part in enumerate(parts) if n >= begin and part in OWN), len(parts)))


def _base(base: Path, path: Path) -> int:
    with _told(path):
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
        f"{path} is a link, and Ralph writes only into folders of the project itself.",
        remedy="Remove the link, then run again.",
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failed(path, error) from None


def _failed(path: Path, error: OSError) -> RalphError:
    return RalphError(
        f"{path} could not be made: {error.strerror}.",
        remedy="Free some space or correct the folder's permissions, then run again.",
    )
