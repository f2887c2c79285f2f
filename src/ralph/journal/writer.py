"""The journal of one run: a line for each event, and whoever wants to hear of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from ralph import inside
from ralph.errors import RalphError
from ralph.journal.events import Event, to_json
from ralph.journal.reader import FILE

Listener = Callable[[Event, str], None]
"""Hears of an event, and gets its line in the journal; a line that is not kept is empty."""


class Journal:
    """Writes `.ralph/logs/<run>/journal.jsonl` and tells the listeners."""

    def __init__(self, folder: Path, clean: Callable[[str], str] = str) -> None:
        self.folder = folder
        self._clean = clean
        self._listeners: list[Listener] = []
        self._descriptor = -1
        self._size = 0  # of what we have written

    def __enter__(self) -> Journal:
        return self  # the folder is made with the first event: a run that never began leaves no trace

    def _prepare(self) -> None:
        """Have the file open, with what we wrote and nothing else: an agent may have swept it away or added lines."""
        path = self.folder / FILE
        if self._descriptor < 0:
            self._descriptor = inside.open_append(path)
        elif not _is_still(path, self._descriptor):
            written = os.pread(self._descriptor, self._size, 0)
            with inside.open_new(path) as file:
                file.write(written)
            os.close(self._descriptor)
            self._descriptor = inside.open_append(path)
        elif os.fstat(self._descriptor).st_size > self._size:
            os.ftruncate(self._descriptor, self._size)

    def _write(self, data: bytes) -> None:
        try:
            self._prepare()
            os.write(self._descriptor, data)
            self._size = os.fstat(self._descriptor).st_size
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
        text = line(event, self._clean) if event.kept else ""
        if text:
            self._write((text + "\n").encode(errors="replace"))
        for listener in self._listeners:
            listener(event, text)


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the open file is the one that bears the name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def line(event: Event, clean: Callable[[str], str] = str) -> str:
    """An event as one line of JSON, with every text in it cleaned."""
    body = to_json(event, clean)
    assert isinstance(body, dict), "events are dataclasses"
    return json.dumps({"event": event.name(), "at": now(), **body}, ensure_ascii=False)


def now() -> str:
    """This moment, as every file of ours writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_run_id() -> str:
    """A name that sorts by time, also within a second, and that no two runs share."""
    began = time.time()
    within = int(began % 1 * 0xFFF)
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{within:03x}{os.urandom(3).hex()[:5]}"
