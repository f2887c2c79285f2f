"""Files that are either the old one or the new one, never half of either."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError

TRIES = 3  # at a name that is not taken
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp", re.DOTALL)


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace `path` with `data`: a temporary file in the same folder, fsync, rename.

    What can be made again from other files need not be synced.

    After a power cut it may be the old one again, which is as whole as the new one: every order of our writes
    allows for that, so the folder itself is not synced.

    An agent may put anything beside `path`, so the temporary file is one that was not there before: a name that is
    taken is left alone, and no link is followed.
    """
    try:
        with safe_files.folder(path.parent) as folder:
            _replace(path.name, folder, data, sync=sync)
    except OSError as error:
        raise RalphError(
            f"{path} could not be saved: {error.strerror}.",
            remedy="The old file is whole. Free some space or correct the folder's permissions, then run again.",
        ) from None
    except RalphError as error:
        raise RalphError(f"{path} could not be saved.", details=(error.what,), remedy=error.remedy) from None


def _replace(name: str, folder: int, data: bytes, *, sync: bool) -> None:
    temporary, descriptor = _temporary(name, folder)
    try:
        try:
            _keep_mode(name, folder, descriptor)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
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
    """A new file and its name: at most a few that an agent guessed can be taken."""
    for _ in range(TRIES):
        temporary = f".{name}.{os.urandom(8).hex()}.tmp"
        with suppress(FileExistsError):
            return temporary, os.open(temporary, os.O_WRONLY | safe_files.NEW, 0o644, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, "every temporary name is taken")


def is_temporary(name: str) -> bool:
    """Whether a file is one that a writer makes, and removes unless it is killed."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(path: Path) -> None:
    """Remove what a writer of `path` that was killed left beside it; nobody else may be writing."""
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            left.unlink()


def _keep_mode(name: str, folder: int, descriptor: int) -> None:
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            os.fchmod(descriptor, stat.S_IMODE(mode) & 0o777)
