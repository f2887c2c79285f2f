"""The lock: one run at a time. The kernel's lock decides; `.ralph/ralph.lock` names the owner for people."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from ralph import safe_files
from ralph.errors import EXIT_LOCKED, RalphError
from ralph.frozen import Frozen
from ralph.process.table import birth_of
from ralph.workspace import RALPH, common_git_dir

UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)
A_MOMENT = 1.0
"""How many seconds a lock may be held without a running owner: by a reader, or by a run that starts or ends."""


class Owner(Frozen):
    """The current or last owner of the lock."""

    pid: int
    run: str
    target: str = ""
    birth: str = ""  # distinguishes the process from a later one with the same pid

    def lives(self) -> bool:
        birth = birth_of(self.pid)
        return bool(birth) and (not self.birth or birth == self.birth)


UNKNOWN = Owner(pid=0, run="unknown")


def me(run: str, target: str) -> Owner:
    return Owner(pid=os.getpid(), run=run, target=target, birth=birth_of(os.getpid()))


@contextmanager
def hold(path: Path, owner: Owner, *, brief: bool = False) -> Iterator[Owner | None]:
    """Hold the lock; yield the dead owner it was taken from, if any.

    A `brief` holder leaves a dead owner's name in place, because the next run must still end that owner's processes.

    The kernel releases its lock when the owner dies in any way, so the file's content decides only on file systems
    without such locks. A project in git is locked below the git folder, where `git clean` does not reach, and also by
    the note, because a repository may be created or removed during a run.
    """
    files = _files(path)
    with ExitStack() as stack:
        locked = [stack.enter_context(_locked(file, path, owner)) for file in files]
        left_by = next(filter(None, map(_read, locked)), None)
        for descriptor in locked:
            _write(descriptor, owner)
        try:
            yield left_by
        finally:
            for file in reversed(files):
                if brief and left_by:
                    _name(file, left_by)
                else:
                    _remove(file)


def renew(path: Path, owner: Owner) -> None:
    """Restore lock files that an agent removed."""
    for file in _files(path):
        if not safe_files.is_file(file):
            _name(file, owner)


def holder(path: Path) -> Owner | None:
    """Return the current owner of the lock; None if it is free."""
    files = _files(path)
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if _is_held(descriptor):
                return _read(descriptor) or next(filter(None, map(_named, files)), UNKNOWN)
        finally:
            os.close(descriptor)
    return None


def check_free(path: Path) -> None:
    """Raise the error of a run that finds another one under way."""
    owner = holder(path)
    if owner:
        raise _held(path, owner)


def _files(path: Path) -> tuple[Path, ...]:
    """Return the files to lock: the note, and for a project in git a file below the git folder."""
    root = Path(os.path.realpath(path.parent.parent))
    shared = common_git_dir(root) if path.parent.name == RALPH else None
    if shared is None:
        return (path,)
    return shared / "ralph" / "locks" / hashlib.sha256(os.fsencode(root)).hexdigest()[:12], path


@contextmanager
def _locked(file: Path, path: Path, owner: Owner) -> Iterator[int]:
    """Open and lock the file, waiting briefly if it is held without a running owner."""
    patience = time.monotonic() + A_MOMENT
    while True:
        descriptor = _open(file)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                named = _read(descriptor)
                if (named and named.lives()) or time.monotonic() > patience:
                    raise _held(path, named) from None
                time.sleep(0.01)
                continue
            except OSError as error:
                _check_by_name(error, path, _read(descriptor), owner)
            if _is_still(file, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _check_by_name(error: OSError, path: Path, named: Owner | None, owner: Owner) -> None:
    """Check the owner's pid and start time, on file systems without locks."""
    if error.errno not in UNSUPPORTED:
        raise error
    if named and named.pid != owner.pid and named.lives():
        raise _held(path, named)


def _open(file: Path) -> int:
    try:
        return safe_files.open_append(file)
    except RalphError as error:
        raise RalphError(f"Lock file: {error.what}", details=error.details, remedy=error.remedy) from None


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        named = _read(descriptor)
        return bool(named and named.lives())
    return False


def _held(path: Path, owner: Owner | None) -> RalphError:
    who = (
        f"process {owner.pid}, run {owner.run}" + (f", on {owner.target}" if owner.target else "")
        if owner
        else "another process"
    )
    return RalphError(
        f"Another run is active here ({who}).",
        details=(f"It holds the lock {path}.",),
        remedy="Wait until it ends, or stop it with Ctrl-C" + (f" or `kill {owner.pid}`." if owner else "."),
        code=EXIT_LOCKED,
    )


def _is_still(path: Path, descriptor: int) -> bool:
    """Return whether the locked file is still at its path; the last owner may just have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _named(path: Path) -> Owner | None:
    try:
        with safe_files.open_old(path) as file:
            return _read(file.fileno())
    except OSError:
        return None


def _read(descriptor: int) -> Owner | None:
    try:
        data = json.loads(os.pread(descriptor, 4096, 0))
        return Owner(
            pid=int(data["pid"]),
            run=str(data["run"]),
            target=str(data.get("target", "")),
            birth=str(data.get("birth", "")),
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def _write(descriptor: int, owner: Owner) -> None:
    """Write in place, because the file itself is locked."""
    os.ftruncate(descriptor, 0)
    safe_files.write_all(descriptor, (json.dumps(asdict(owner)) + "\n").encode())
    os.fsync(descriptor)


def _name(file: Path, owner: Owner) -> None:
    """Write an owner into a file that may no longer exist."""
    descriptor = _open(file)
    try:
        _write(descriptor, owner)
    finally:
        os.close(descriptor)


def _remove(file: Path) -> None:
    with suppress(OSError):  # an agent may have put a folder there, or removed the parent folder
        file.unlink()
