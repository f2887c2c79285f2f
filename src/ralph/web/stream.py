"""Tells browsers what happens, as it happens. Every event has a place, so that one who comes back misses nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ralph.frozen import Frozen
from ralph.journal.decode import JournalEntry
from ralph.journal.reader import events, runs
from ralph.text import one_line, plain
from ralph.views.event_line import event_text
from ralph.views.words import cut
from ralph.web.feed import Feed, Heard
from ralph.web.project import WebProject

KEPT = 2_000
"""Events that are kept in memory for all browsers together, and at most told to one that comes back."""
MAX_STREAMS = 256
BEAT = 15.0
LASTS = 3_600.0
"""Seconds after which a stream ends: the browser opens another one, if it is still there."""
MAX_TEXT = 400

Position = tuple[str, int]
"""A run and the number of an event in it."""


class _Message(Frozen):
    """Something to tell, and where it stands."""

    project: int
    position: Position | None  # None: something changed that no event tells of
    data: str


class Hub:
    """Follows all projects, and tells all browsers."""

    def __init__(self, feeds: Iterable[Feed]) -> None:
        self._feeds = {feed.project.number: feed for feed in feeds}
        self._messages: deque[_Message] = deque(maxlen=KEPT)
        self._count = 0  # messages so far
        self._positions: dict[int, Position] = {}
        self._news = asyncio.Condition()
        self._closing = False
        self.streams = 0

    async def run(self) -> None:
        """Follow everything until cancelled."""
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds.values():
                group.create_task(feed.follow(self._hear))

    async def close(self) -> None:
        """End all streams: the server stops."""
        self._closing = True
        async with self._news:
            self._news.notify_all()

    @property
    def is_full(self) -> bool:
        return self.streams >= MAX_STREAMS

    def cursor(self) -> str:
        """Return where all projects are now."""
        return _written(self._positions)

    async def _hear(self, heard: Heard) -> None:
        number = heard.project.number
        for entry in heard.entries:
            place = heard.run, entry.seq
            self._positions[number] = max(place, self._positions.get(number, place))
            if heard.is_news:
                self._add(_Message(project=number, position=place, data=_data(heard.project, heard.run, entry)))
        if heard.is_news and not heard.entries:
            self._add(_Message(project=number, position=None, data=json.dumps({"project": number})))
        async with self._news:
            self._news.notify_all()

    def _add(self, message: _Message) -> None:
        self._messages.append(message)
        self._count += 1

    async def stream(self, cursor: str) -> AsyncIterator[bytes]:
        """Yield what happened since `cursor`, and then what happens."""
        known = _read(cursor)
        yield b"retry: 1000\n\n"
        told, now = self._count, dict(self._positions)
        positions = {**now, **known}
        missed = await asyncio.to_thread(self._missed, known, now)
        if missed is None:
            positions = now
            yield _event("reload", "{}", positions)
        for message in missed or ():
            yield _told(message, positions)
        end = time.monotonic() + LASTS
        while not self._closing and time.monotonic() < end:
            behind = self._count - told
            if behind > len(self._messages):
                positions = dict(self._positions)
                yield _event("reload", "{}", positions)
            else:
                for message in list(self._messages)[len(self._messages) - behind :] if behind else ():
                    yield _told(message, positions)
            told += behind
            if not await self._wait(told):
                yield b": still here\n\n"

    async def _wait(self, told: int) -> bool:
        """Wait for news; return False if there are none for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT), self._news:
                await self._news.wait_for(lambda: self._closing or self._count > told)
            return True
        return False

    def _missed(self, known: dict[int, Position], now: dict[int, Position]) -> list[_Message] | None:
        """Return what a browser missed, from the journals; None if it is too much to tell."""
        found: list[_Message] = []
        for number, (run, seq) in known.items():
            if number not in now or now[number] == (run, seq):
                continue
            project = self._feeds[number].project
            for folder in runs(project.workspace.logs):
                if not run <= folder.name <= now[number][0]:
                    continue
                for entry in events(folder):
                    place = folder.name, entry.seq
                    if (run, seq) < place <= now[number]:
                        found.append(_Message(project=number, position=place, data=_data(project, folder.name, entry)))
                        if len(found) > KEPT:
                            return None
        return found


class Listening(StreamingResponse):
    """An answer that tells what happens, and counts as one of the streams as long as it lasts."""

    def __init__(self, hub: Hub, cursor: str) -> None:
        super().__init__(hub.stream(cursor), media_type="text/event-stream")
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._hub.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.streams -= 1


def _told(message: _Message, positions: dict[int, Position]) -> bytes:
    if message.position is None:
        return _event("changed", message.data)
    positions[message.project] = message.position
    return _event("journal", message.data, positions)


def _event(name: str, data: str, positions: dict[int, Position] | None = None) -> bytes:
    place = f"id: {_written(positions)}\n" if positions is not None else ""
    return f"{place}event: {name}\ndata: {data}\n\n".encode()


def _data(project: WebProject, run: str, entry: JournalEntry) -> str:
    event = entry.event
    about = {
        "project": project.number,
        "run": run,
        "seq": entry.seq,
        "target": cut(one_line(entry.target), 100),
        "work": cut(one_line(str(getattr(event, "work", ""))), 100),
        "attempt": getattr(event, "attempt", 0),
        "name": cut(one_line(entry.name), 60),
        "at": plain(entry.at)[:40],
        "text": event_text(entry, "work", "attempt")[:MAX_TEXT],
    }
    return json.dumps(about)  # ASCII, without line ends: one line of the stream


def _written(positions: dict[int, Position]) -> str:
    return ",".join(f"{number}:{run}:{seq}" for number, (run, seq) in sorted(positions.items()))


def _read(cursor: str) -> dict[int, Position]:
    """Read a place that a browser gave back; what makes no sense is left out."""
    found: dict[int, Position] = {}
    for part in cursor[:4_000].split(","):
        number, _, place = part.partition(":")
        run, _, seq = place.rpartition(":")
        if number.isdecimal() and seq.isdecimal() and len(number) < 4 and len(seq) < 12:
            found[int(number)] = run, int(seq)
    return found
