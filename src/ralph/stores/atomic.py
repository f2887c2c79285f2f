"""Files that are either the old one or the new one, never half of either."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ralph.errors import RalphError


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace `path` with `data`: a temporary file in the same folder, fsync, rename.

    What can be made again from other files need not be synced.

    After a power cut it may be the old one again, which is as whole as the new one: every order of our writes
    allows for that, so the folder itself is not synced.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _keep_mode(path, descriptor)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)  # noqa: PTH105 - the pair os.open/os.replace reads as one
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise RalphError(
            f"{path} could not be saved: {error.strerror}.",
            remedy="The old file is whole. Free some space or correct the folder's permissions, then run again.",
        ) from None


def sweep(path: Path) -> None:
    """Remove what a writer of `path` that was killed left beside it; nobody else may be writing."""
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            left.unlink()


def _keep_mode(path: Path, descriptor: int) -> None:
    with suppress(FileNotFoundError):
        os.fchmod(descriptor, path.stat().st_mode & 0o777)
