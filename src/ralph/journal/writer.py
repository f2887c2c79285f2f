"""The journal of one run: writes a line for each event and notifies the listeners."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.journal.encode import encode
from ralph.journal.encode import now as now
from ralph.journal.events import Event
from ralph.journal.reader import FILE
from ralph.process.redaction import cleaned

Listener = Callable[[Event, str], None]
"""Receives an event and its line in the journal; the line of an event that is not kept is empty."""
UNNAMED = f".{FILE}.tmp"


class Journal:
    """Writes `.ralph/logs/<run>/journal.jsonl` and notifies the listeners.

    While open, it holds a lock on the file, which the kernel releases however the process ends. By that lock, other
    processes know that more may come.
    """

    def __init__(self, folder: Path, clean: Callable[[str], str] = str, target: str = "") -> None:
        self.folder = folder
        self._clean = clean
        self._target = clean(target)
        self._listeners: list[Listener] = []
        self._descriptor = -1
        self._size = 0  # of what this process has written
        self._seq = 0
        self._digest = hashlib.sha256()
        self._turn = threading.RLock()  # reentrant, because a listener may emit events

    def __enter__(self) -> Journal:
        return self  # the first event creates the folder, so that a run that never began leaves no trace

    def _prepare(self) -> None:
        """Open the file with only what this process wrote: an agent may have removed it or added lines."""
        if self._descriptor < 0 or not _is_still(self.folder / FILE, self._descriptor):
            self._make()
        size = os.fstat(self._descriptor).st_size
        if size > self._size:
            os.ftruncate(self._descriptor, self._size)
        if size < self._size:  # lines are lost, so the digest is of those that are left
            self._size, self._digest = size, hashlib.sha256(os.pread(self._descriptor, size, 0))

    def _make(self) -> None:
        """Create the file with all lines so far; it is locked before it gets its name, so that no reader is misled."""
        with safe_files.folder(self.folder) as handle:
            safe_files.remove(UNNAMED, handle)
            made = os.open(UNNAMED, os.O_RDWR | os.O_APPEND | safe_files.NEW, 0o644, dir_fd=handle)
            try:
                with suppress(OSError):  # this file system has no locks
                    fcntl.flock(made, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if self._descriptor >= 0:
                    safe_files.write_all(made, os.pread(self._descriptor, self._size, 0))
                safe_files.remove(FILE, handle)
                os.rename(UNNAMED, FILE, src_dir_fd=handle, dst_dir_fd=handle)
            except OSError:
                os.close(made)
                raise
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = made

    def _write(self, data: bytes) -> None:
        try:
            self._prepare()
            try:
                safe_files.write_all(self._descriptor, data)
                self._size += len(data)
                self._digest.update(data)
            except OSError:
                os.ftruncate(self._descriptor, self._size)  # half a line would corrupt the next one
                raise
        except OSError as error:
            raise RalphError(
                f"{self.folder / FILE} could not be written: {error.strerror}.",
                remedy="Free some disk space, then run again. Nothing is lost.",
            ) from None

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    @property
    def digest(self) -> tuple[str, int]:
        """The sha256 of all lines so far, and their length in bytes."""
        return self._digest.hexdigest(), self._size

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Write an event and notify the listeners, all without secrets.

        Threads take turns, so that numbers and lines have one order.
        """
        event = cleaned(event, self._clean)
        with self._turn:
            text = self._keep(event) if event.kept else ""
            for listener in self._listeners:
                listener(event, text)

    def _keep(self, event: Event) -> str:
        data = encode(event, seq=self._seq + 1, run=self.folder.name, target=self._target)
        self._write(data)
        self._seq += 1
        return data.decode().rstrip("\n")


def _is_still(path: Path, descriptor: int) -> bool:
    """Return whether the open file is still at its path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def new_run_id() -> str:
    """Return a unique id that sorts by time, even within a second."""
    began = time.time()
    within = int(began % 1 * 0xFFF)
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{within:03x}{os.urandom(3).hex()[:5]}"
