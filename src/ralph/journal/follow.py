"""Follows the events of a run while another process writes them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ralph.journal.decode import JournalEntry
from ralph.journal.encode import MAX_LINE
from ralph.journal.events import RunEnded
from ralph.journal.reader import FILE, Lines
from ralph.journal.tail import JournalTail
from ralph.journal.watch import POLL, FolderWatch

PAUSE = 1.0  # seconds between checks whether the writer is running, unless an event wakes us


def follow(folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None) -> Iterator[JournalEntry]:
    """Yield the events of the run in `folder` after number `since`: the existing ones, then each new one.

    It ends when the run has ended or its process is gone. While `alive` says that the run is active, it waits for a
    journal that does not exist yet.
    """
    with JournalFollower(folder, since, alive=alive) as run:
        while True:
            yield from run.news()
            if run.is_over():
                return
            run.watch.wait(run.pause)


async def follow_async(
    folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None
) -> AsyncIterator[JournalEntry]:
    """Do the same, asynchronously."""
    with JournalFollower(folder, since, alive=alive) as run:
        while True:
            for entry in run.news():
                yield entry
            if run.is_over():
                return
            await run.watch.happened(run.pause)


class JournalFollower:
    """Reads a journal while it is written: alternate between `news`, `is_over` and a wait."""

    def __init__(self, folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None) -> None:
        self.lines = Lines(folder.name)
        self._since, self._last = since, 0
        self._alive = alive or (lambda: True)
        self.path = folder / FILE
        self._tail = JournalTail(self.path, MAX_LINE)
        self.watch = FolderWatch(self.path)
        self._stack = ExitStack()
        self._seen: dict[int, int] = {}  # the hash of the line under each number
        self._doubted: set[int] = set()
        self._fresh: list[JournalEntry] = []
        self.has_ended = False
        self._unheld = 0.0  # since when no process holds the file's lock

    def __enter__(self) -> JournalFollower:
        self._stack.enter_context(self._tail)
        self._stack.enter_context(self.watch)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pause(self) -> float:
        """The maximum time to wait."""
        return POLL if self._unheld or self.has_ended else PAUSE

    def news(self) -> list[JournalEntry]:
        """Return what was written since the last call."""
        self.watch.arm()
        while not self._read():
            self._tail.rewind()  # Ralph removes foreign lines, so this may have started in the middle of a line
            self.lines.restart()
        fresh, self._fresh = self._fresh, []
        return fresh

    def _read(self) -> bool:
        """Read to the end; return False at the first sight of a line that makes no sense."""
        for line in self._tail.read():
            mark, entry = hash(line), self.lines.read(line)
            is_odd = entry is None or not 0 < entry.seq <= self._last + 1
            if is_odd and mark not in self._doubted:
                self._doubted.add(mark)
                return False
            if entry and self._seen.get(entry.seq) != mark:
                self._take(entry, mark)
        return True

    def _take(self, entry: JournalEntry, mark: int) -> None:
        self._seen[entry.seq], self._last = mark, max(entry.seq, self._last)
        self.has_ended = self.has_ended or isinstance(entry.event, RunEnded)
        if entry.seq > self._since:
            self._fresh.append(entry)

    def is_over(self) -> bool:
        """Return whether nothing more will come."""
        held = self._tail.is_held() if self._tail.has_begun else None
        if held is None:
            return not self._alive() or (self.has_ended and self._tail.has_begun)
        if held:
            self._unheld = 0.0
            return False
        self._unheld = self._unheld or time.monotonic()
        return self.has_ended or time.monotonic() - self._unheld >= POLL  # while the file is rewritten, it has no lock
