"""The events of a run, as another process writes them."""

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

PAUSE = 1.0  # seconds between looks whether the writer lives, if nothing wakes us before


def follow(folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None) -> Iterator[JournalEntry]:
    """The events of the run in `folder` after number `since`: those that are there, then each as it is written.

    It ends when the run has ended, or when its process is gone. A journal that does not exist yet is waited for, as
    long as `alive` says that its run is at work.
    """
    with Following(folder, since, alive=alive) as run:
        while True:
            yield from run.news()
            if run.is_over():
                return
            run.watch.wait(run.pause)


async def follow_async(
    folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None
) -> AsyncIterator[JournalEntry]:
    """The same for a program that does other things meanwhile."""
    with Following(folder, since, alive=alive) as run:
        while True:
            for entry in run.news():
                yield entry
            if run.is_over():
                return
            await run.watch.happened(run.pause)


class Following:
    """A journal that is read while it is written: in turns what is new, whether that was all, and a wait."""

    def __init__(self, folder: Path, since: int = 0, *, alive: Callable[[], bool] | None = None) -> None:
        self.lines = Lines(folder.name)
        self._since, self._last = since, 0
        self._alive = alive or (lambda: True)
        self.path = folder / FILE
        self._tail = JournalTail(self.path, MAX_LINE)
        self.watch = FolderWatch(self.path)
        self._stack = ExitStack()
        self._seen: dict[int, int] = {}  # what was said under each number
        self._doubted: set[int] = set()
        self._fresh: list[JournalEntry] = []
        self.has_ended = False
        self._unheld = 0.0  # since when nobody holds it

    def __enter__(self) -> Following:
        self._stack.enter_context(self._tail)
        self._stack.enter_context(self.watch)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pause(self) -> float:
        """How long to wait at most."""
        return POLL if self._unheld or self.has_ended else PAUSE

    def news(self) -> list[JournalEntry]:
        """What was written since the last call."""
        self.watch.arm()
        while not self._read():
            self._tail.rewind()  # Ralph removes lines that others add, so we may have read from amidst one
            self.lines.restart()
        fresh, self._fresh = self._fresh, []
        return fresh

    def _read(self) -> bool:
        """Read to the end; False: a line makes no sense, and it is the first time."""
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
        """Whether nothing more will come."""
        held = self._tail.is_held() if self._tail.has_begun else None
        if held is None:
            return not self._alive() or (self.has_ended and self._tail.has_begun)
        if held:
            self._unheld = 0.0
            return False
        self._unheld = self._unheld or time.monotonic()
        return self.has_ended or time.monotonic() - self._unheld >= POLL  # while it is written anew, it has no lock
