"""One run at a time: `.ralph/ralph.lock` names its owner; a dead owner's lock is taken over."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ralph.errors import EXIT_LOCKED, RalphError
from ralph.process.table import birth_of


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who holds, or held, the lock."""

    pid: int
    run: str
    target: str = ""
    birth: str = ""  # tells the process from a later one that got the same number

    def lives(self) -> bool:
        birth = birth_of(self.pid)
        return bool(birth) and (not self.birth or birth == self.birth)


def me(run: str, target: str) -> Owner:
    return Owner(pid=os.getpid(), run=run, target=target, birth=birth_of(os.getpid()))


@contextmanager
def hold(path: Path, owner: Owner, *, brief: bool = False) -> Iterator[Owner | None]:
    """Hold the lock; yields the dead owner it was taken from, if there was one.

    A `brief` holder leaves a dead owner's name behind: the next run has yet to end what it left running.

    The kernel drops the flock when its owner dies in any way. Where the file system has none, the owner's
    process number and time of birth still tell whether it lives.
    """
    with _opened(path) as descriptor:
        left_by = _read(descriptor)
        if left_by and left_by.pid != owner.pid and left_by.lives():
            raise _held(path, left_by)
        _write(descriptor, owner)
        try:
            yield left_by
        finally:
            if brief and left_by:
                _write(descriptor, left_by)
            else:
                path.unlink(missing_ok=True)


def renew(path: Path, owner: Owner) -> None:
    """Put the file back if somebody removed it under us; its text names us as long as we live."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        _write(descriptor, owner)
        os.close(descriptor)


def holder(path: Path) -> Owner | None:
    """Who holds the lock now, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        owner = _read(descriptor)
        return owner if owner and owner.lives() else None
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RalphError(
                f"The lock {path} could not be made: {error.strerror}.",
                remedy="Correct the folder's permissions, then run again.",
            ) from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _held(path, _read(descriptor)) from None
            if _is_still(path, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _held(path: Path, owner: Owner | None) -> RalphError:
    who = (
        f"process {owner.pid}, run {owner.run}" + (f", on {owner.target}" if owner.target else "")
        if owner
        else "another process"
    )
    return RalphError(
        f"Another run is at work here ({who}).",
        details=(f"It holds {path}.",),
        remedy="Wait for it to end, or stop it with Ctrl-C" + (f" or `kill {owner.pid}`." if owner else "."),
        code=EXIT_LOCKED,
    )


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file we locked is the one that bears the name: its last owner may just have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _read(descriptor: int) -> Owner | None:
    try:
        data = json.loads(os.pread(descriptor, 4096, 0))
        return Owner(
            pid=int(data["pid"]),
            run=str(data["run"]),
            target=str(data.get("target", "")),
            birth=str(data.get("birth", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _write(descriptor: int, owner: Owner) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, (json.dumps(asdict(owner)) + "\n").encode(), 0)
    os.fsync(descriptor)
