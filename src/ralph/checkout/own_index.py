"""Ralph's own index of a working copy. Whoever works there can reach it, so it is believed only as Ralph left it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from ralph import safe_files

Signature = tuple[int, int, int, int]


@dataclass
class OwnIndex:
    """One index file, and what it was when Ralph last wrote it; in memory, where nobody else can change it."""

    path: Path
    _left: Signature | None = None

    def remember(self) -> None:
        """It is as Ralph wants it."""
        self._left = _signature(self.path)

    def is_as_left(self) -> bool:
        """Whether nobody else wrote it since; not known of what another process left."""
        return self._left is not None and _signature(self.path) == self._left

    def was_changed(self) -> bool:
        """Whether somebody else certainly did."""
        return self._left is not None and _signature(self.path) != self._left

    def exists(self) -> bool:
        return _signature(self.path) is not None

    def discard(self) -> None:
        """Remove it; a link, and not what it leads to."""
        safe_files.remove_all(self.path)


def _signature(path: Path) -> Signature | None:
    """What tells a plain file from any other that bears its name later; None: there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
