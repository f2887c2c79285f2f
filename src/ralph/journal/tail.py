"""Reads the lines that another process appends to a file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralph import safe_files

PIECE = 1 << 16


class JournalTail:
    """Reads whole lines as they are added, even if the file is created later, replaced or truncated."""

    def __init__(self, path: Path, max_length: int) -> None:
        self.path, self._max_length = path, max_length
        self._file = -1
        self._partial = b""
        self._skipping = False  # skip the rest of a line that is too long

    def __enter__(self) -> JournalTail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def read(self) -> Iterator[bytes]:
        """Yield the added lines without their ends; an unfinished line waits for its end."""
        self._renew()
        while self._file >= 0 and (data := os.read(self._file, PIECE)):
            *whole, rest = data.split(b"\n")
            for line in whole:
                text, skipping = self._partial + line, self._skipping
                self._partial, self._skipping = b"", False
                if not skipping:
                    yield text
            self._partial += rest
            if len(self._partial) > self._max_length:
                text, skipping = self._partial[: self._max_length + 1], self._skipping
                self._partial, self._skipping = b"", True
                if not skipping:
                    yield text  # its beginning, which is already too long

    def rewind(self) -> None:
        """Read everything again."""
        os.lseek(self._file, 0, os.SEEK_SET)
        self._partial, self._skipping = b"", False

    @property
    def has_begun(self) -> bool:
        """Whether there was anything to read."""
        return self._file >= 0 and os.fstat(self._file).st_size > 0

    def is_held(self) -> bool | None:
        """Return whether the writing process is running, by its lock on the file; None if there are no locks here."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(self._file, fcntl.LOCK_UN)
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False

    def _renew(self) -> None:
        """Start again if another file has replaced this one, or if the file is shorter than what was read."""
        if self._file >= 0:
            ours = os.fstat(self._file)
            if ours.st_size < os.lseek(self._file, 0, os.SEEK_CUR):
                self.rewind()
            try:
                if os.path.samestat(ours, self.path.lstat()):
                    return
            except OSError:
                return  # it was removed, but may still be written to
        with suppress(OSError), safe_files.open_old(self.path) as file:
            self.close()
            self._file = os.dup(file.fileno())
            self._partial, self._skipping = b"", False
