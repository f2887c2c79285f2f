"""Follows one project: its newest run, each run that begins, and what else changes its plans."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.journal.decode import JournalEntry, decode
from ralph.journal.encode import MAX_LINE
from ralph.journal.events import AgentEnded, AgentStarted
from ralph.journal.follow import JournalFollower
from ralph.journal.reader import FILE, runs
from ralph.journal.tail import JournalTail
from ralph.journal.watch import FolderWatch
from ralph.stores import lock
from ralph.web.project import WebProject
from ralph.web.reading import ProjectReader
from ralph.workspace import common_git_dir

PAUSE = 2.0
CALM = 0.4
"""Seconds between two hints that something changed which no event tells of."""
ANYTHING = "ralph-ui-waits-for-anything-here"
"""A name that no file has: a watch for it is woken by every file that is created in its folder."""


class Heard(Frozen):
    """What a project has to tell."""

    project: WebProject
    run: str  # the name of its folder, whatever its journal says; empty: something else changed
    entries: tuple[JournalEntry, ...]
    is_news: bool = True  # false: it was there when the dashboard began


Hear = Callable[[Heard], Awaitable[None]]


class Feed:
    """Follows one project until cancelled."""

    def __init__(self, reader: ProjectReader) -> None:
        self.reader = reader
        self.project = reader.project
        self._voices: dict[tuple[str, str, int], Path] = {}  # where the agents at work say what they say

    async def follow(self, hear: Hear) -> None:
        """Tell what is there, then what is new."""
        known: set[str] | None = None
        before: object = None
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(self.reader.histories.of, ""))  # before the first browser asks
            with FolderWatch() as watch:
                while True:
                    watch.paths = self._watched()
                    watch.arm()
                    now = await asyncio.to_thread(self._mark)
                    if now != before:
                        folders = await asyncio.to_thread(runs, self.project.workspace.logs)
                        fresh = [folder for folder in folders if known is None or folder.name not in known]
                        for folder in fresh if known is not None else fresh[-1:]:
                            if known is not None or await asyncio.to_thread(_is_written, folder):
                                group.create_task(self._run(folder, hear, is_news=known is not None))
                            elif last := await asyncio.to_thread(_last, folder):
                                await hear(Heard(project=self.project, run=folder.name, entries=(last,), is_news=False))
                        if known is not None:
                            self.reader.changed()
                            await hear(Heard(project=self.project, run="", entries=()))
                        known, before = {folder.name for folder in folders}, now
                    await watch.happened(PAUSE)
                    await asyncio.sleep(CALM)

    def _mark(self) -> tuple[tuple[str, int, int], ...]:
        """What changes when a file that is watched changes, or one is created beside it."""
        found = []
        for path in sorted(self._watched()):
            with suppress(OSError):
                status = (path.parent if path.name == ANYTHING else path).stat()
                found.append((str(path), status.st_mtime_ns, status.st_size))
        return tuple(found)

    async def _run(self, folder: Path, hear: Hear, *, is_news: bool) -> None:
        with JournalFollower(folder, alive=lambda: self._is_at_work(folder)) as run:
            while True:
                entries = await asyncio.to_thread(run.news)
                if entries:
                    self._listen(folder, entries)
                    self.reader.changed()
                    await hear(Heard(project=self.project, run=folder.name, entries=tuple(entries), is_news=is_news))
                is_news = True
                if run.is_over():
                    return
                await run.watch.happened(run.pause)

    def _listen(self, folder: Path, entries: list[JournalEntry]) -> None:
        for entry in entries:
            match entry.event:
                case AgentStarted() as event if event.words:
                    self._voices[folder.name, event.work, event.attempt] = folder / Path(event.words).name
                case AgentEnded() as event:
                    self._voices.pop((folder.name, event.work, event.attempt), None)

    def _watched(self) -> set[Path]:
        workspace = self.project.workspace
        found = {workspace.logs / ANYTHING, workspace.ralph / ANYTHING, *self._voices.values()}
        git = common_git_dir(workspace.root)
        return found | ({git / "refs/heads/ralph" / ANYTHING} if git else set())

    def _is_at_work(self, folder: Path) -> bool:
        owner = lock.holder(self.project.workspace.lock)
        return owner is not None and owner.run == folder.name


def _is_written(folder: Path) -> bool:
    """Return whether a process still writes this journal; where there are no locks, whether it might."""
    with JournalTail(folder / FILE, MAX_LINE) as tail:
        return next(tail.read(), None) is None or tail.is_held() is not False


def _last(folder: Path) -> JournalEntry | None:
    """Return the last event of a journal that has ended, without reading all of it."""
    try:
        with safe_files.open_old(folder / FILE) as file:
            file.seek(max(file.seek(0, 2) - 2 * MAX_LINE, 0))
            lines = file.read().splitlines()
    except OSError:
        return None
    return next((entry for line in reversed(lines) if (entry := decode(line)) and entry.seq), None)
