"""Ralph's own index of a working copy. Agents can reach it, so Ralph trusts it only if it is unchanged."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from ralph import safe_files

Signature = tuple[int, int, int, int]


@dataclass
class OwnIndex:
    """One index file and its state after Ralph's last write, kept in memory where no other process can change it."""

    path: Path
    _left: Signature | None = None

    def remember(self) -> None:
        """Record the current state as Ralph's own."""
        self._left = _signature(self.path)

    def is_as_left(self) -> bool:
        """Return whether the index is known to be unchanged; False for one that another process left."""
        return self._left is not None and _signature(self.path) == self._left

    def was_changed(self) -> bool:
        """Return whether the index is known to have been changed."""
        return self._left is not None and _signature(self.path) != self._left

    def exists(self) -> bool:
        return _signature(self.path) is not None

    def discard(self) -> None:
        """Remove the index; if it is a link, remove the link itself."""
        safe_files.remove_all(self.path)


def _signature(path: Path) -> Signature | None:
    """Return values that identify this version of a regular file; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
