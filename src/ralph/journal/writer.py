"""The journal of one run: a line for each event, and whoever wants to hear of it."""

from __future__ import annotations

import fcntl
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

Listener = Callable[[Event, str], None]
"""Hears of an event, and gets its line in the journal; a line that is not kept is empty."""
UNNAMED = f".{FILE}.tmp"


class Journal:
    """Writes `.ralph/logs/<run>/journal.jsonl` and tells the listeners.

    While it is open it holds a lock on the file, which the kernel drops however the process ends: that is how other
    processes know that more may come.
    """

    def __init__(self, folder: Path, clean: Callable[[str], str] = str, target: str = "") -> None:
        self.folder = folder
        self._clean = clean
        self._target = clean(target)
        self._listeners: list[Listener] = []
        self._descriptor = -1
        self._size = 0  # of what we have written
        self._seq = 0
        self._turn = threading.RLock()  # a listener may have something to add

    def __enter__(self) -> Journal:
        return self  # the folder is made with the first event: a run that never began leaves no trace

    def _prepare(self) -> None:
        """Have the file open, with what we wrote and nothing else: an agent may have swept it away or added lines."""
        if self._descriptor < 0 or not _is_still(self.folder / FILE, self._descriptor):
            self._make()
        size = os.fstat(self._descriptor).st_size
        if size > self._size:
            os.ftruncate(self._descriptor, self._size)
        self._size = min(size, self._size)

    def _make(self) -> None:
        """The file, with what we have written so far; it is locked before it gets its name, so no reader is misled."""
        with safe_files.folder(self.folder) as handle:
            safe_files.remove(UNNAMED, handle)
            made = os.open(UNNAMED, os.O_RDWR | os.O_APPEND | safe_files.NEW, 0o644, dir_fd=handle)
            try:
                with suppress(OSError):  # this file system has no locks
                    fcntl.flock(made, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if self._descriptor >= 0:
                    _write_all(made, os.pread(self._descriptor, self._size, 0))
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
                _write_all(self._descriptor, data)
                self._size += len(data)
            except OSError:
                os.ftruncate(self._descriptor, self._size)  # half a line would be in the way of the next one
                raise
        except OSError as error:
            raise RalphError(
                f"{self.folder / FILE} could not be written: {error.strerror}.",
                remedy="Free some space, then run again; the state is whole.",
            ) from None

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Write an event down and tell the listeners; threads take turns, so numbers and lines have one order."""
        with self._turn:
            text = self._keep(event) if event.kept else ""
            for listener in self._listeners:
                listener(event, text)

    def _keep(self, event: Event) -> str:
        data = encode(event, seq=self._seq + 1, run=self.folder.name, target=self._target, clean=self._clean)
        self._write(data)
        self._seq += 1
        return data.decode().rstrip("\n")


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one that bears the name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def new_run_id() -> str:
    """A name that sorts by time, also within a second, and that no two runs share."""
    began = time.time()
    within = int(began % 1 * 0xFFF)
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{within:03x}{os.urandom(3).hex()[:5]}"
