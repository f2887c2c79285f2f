"""Writes an agent's transcript to a file that another process can read while the agent runs."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ralph import safe_files
from ralph.errors import RalphError
from ralph.process.redaction import LogStream

MAX_BYTES = 1 << 20
"""The maximum size of the file in bytes: a full file is started again, because the log has everything."""
PACE = 1 << 18
"""Approximate bytes a second: of too much output, only the first lines of each second are written."""
SKIPPED = b"[\xe2\x80\xa6]\n"


class Words:
    """Takes whole lines of an agent's transcript and removes secrets and terminal codes."""

    def __init__(self, path: Path, stream: LogStream) -> None:
        self._path = path
        self._stream = stream  # an agent may print a secret in pieces, which are joined here
        self._file: BinaryIO | None = None
        self._size = 0
        self._second, self._spent = 0, 0
        self._skipping = False
        with suppress(OSError, RalphError):
            self._file = safe_files.open_new(path, buffering=0)

    def feed(self, block: bytes) -> None:
        if int(time.monotonic()) != self._second:
            self._second, self._spent = int(time.monotonic()), 0
        room = PACE - self._spent
        cut = block if len(block) <= room else block[: block.rfind(b"\n", 0, max(room, 0)) + 1]
        self._spent += len(cut)
        if cut:
            self._write(self._stream.feed(cut))
            self._skipping = False
        if len(cut) < len(block) and not self._skipping:
            self._skipping = True
            self._write(SKIPPED)

    def close(self) -> None:
        self._write(self._stream.flush())
        if self._file:
            self._file.close()
        self._file = None

    def _write(self, data: bytes) -> None:
        """Write data and ignore errors, because nothing depends on this file."""
        if not data or not self._file:
            return
        with suppress(OSError, RalphError):
            if self._size + len(data) > MAX_BYTES:
                old, self._file = self._file, safe_files.open_new(self._path, buffering=0)
                old.close()
                self._size = self._file.write(SKIPPED) or 0
            self._size += self._file.write(data) or 0
