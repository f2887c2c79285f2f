"""Writes files atomically: a reader sees the old file or the new one, never a part of either."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError

TRIES = 3  # of an unused temporary name
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp", re.DOTALL)


def write(path: Path, data: bytes, *, sync: bool = True, permissions: int | None = None) -> None:
    """Replace `path` with `data`: write a temporary file in the same folder, fsync, rename.

    Files that can be recreated from others need no sync. Without `permissions`, those of the old file stay.

    After a power cut the old file may be back, which is as complete as the new one. Every order of writes allows for
    that, so the folder itself is not synced.

    An agent may put anything beside `path`, so the temporary file must be new: an existing name is skipped, and no link
    is followed.
    """
    try:
        with safe_files.folder(path.parent) as folder:
            _replace(path.name, folder, data, sync=sync, permissions=permissions)
    except OSError as error:
        raise RalphError(
            f"{path} could not be saved: {error.strerror}.",
            remedy="The old file is unchanged. Free some disk space or fix the folder's permissions, then run again.",
        ) from None
    except RalphError as error:
        raise RalphError(f"{path} could not be saved.", details=(error.what,), remedy=error.remedy) from None


def _replace(name: str, folder: int, data: bytes, *, sync: bool, permissions: int | None) -> None:
    temporary, descriptor = _temporary(name, folder)
    try:
        try:
            if permissions is None:
                _keep_mode(name, folder, descriptor)
            else:
                os.fchmod(descriptor, permissions)
            safe_files.write_all(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _temporary(name: str, folder: int) -> tuple[str, int]:
    """Create a new file; retry a few times in case an agent guessed the name."""
    for _ in range(TRIES):
        temporary = f".{name}.{os.urandom(8).hex()}.tmp"
        with suppress(FileExistsError):
            return temporary, os.open(temporary, os.O_WRONLY | safe_files.NEW, 0o644, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, "every temporary name is taken")


def is_temporary(name: str) -> bool:
    """Return whether a file is a writer's temporary file, which remains only after a kill."""
    return _TEMPORARY.fullmatch(name) is not None


def remove_temporary(path: Path) -> None:
    """Remove temporary files that a killed writer of `path` left. No other process may be writing."""
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            left.unlink()


def remove_temporary_in(*folders: Path) -> None:
    """Remove temporary files that killed writers left directly in these folders. No other process may be writing."""
    for folder in folders:
        with suppress(OSError):
            for path in folder.iterdir() if not folder.is_symlink() else ():
                if is_temporary(path.name) and not path.is_dir():
                    path.unlink()


def _keep_mode(name: str, folder: int, descriptor: int) -> None:
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            os.fchmod(descriptor, stat.S_IMODE(mode) & 0o777)
