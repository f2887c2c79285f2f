"""Tells a person what happens in a run, without the run ever waiting for it, except for a moment at its end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from ralph.config_notify import NotifyKind
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.journal.events import Event
from ralph.notify.channels import Delivery
from ralph.notify.message import Message, joined
from ralph.notify.news import HEARD, NewsItem, NewsReader

MAX_WAITING = 100
NO_TIME = Delivery(ok=False, said="there was no time for it before the run ended")


class SendingPace(Frozen):
    """How many seconds to wait for more to say, between two messages, and for the last ones when the run is over."""

    gather: float = 2.0
    between: float = 15.0
    farewell: float = 5.0


class Channel(Protocol):
    """A way to tell a person something."""

    kinds: frozenset[NotifyKind]

    @property
    def name(self) -> str: ...

    async def send(self, message: Message) -> Delivery: ...


class NotificationQueue:
    """Hears the events of a run; each channel has a queue and a task of its own, so that none waits for another."""

    def __init__(
        self,
        project: str,
        reader: NewsReader,
        channels: Sequence[Channel],
        pace: SendingPace = SendingPace(),  # noqa: B008 - frozen
    ) -> None:
        self._project, self._reader, self._pace = project, reader, pace
        self._over = asyncio.Event()
        self._queues = [_ChannelQueue(channel) for channel in channels]
        self._loop = asyncio.get_running_loop()
        self._tasks = [asyncio.create_task(self._serve(queue)) for queue in self._queues]

    def hear(self, event: Event, _: str) -> None:
        """Listen to the journal, in any thread: what is worth telling is taken up later, by the event loop."""
        if type(event) in HEARD:
            with suppress(RuntimeError):  # the loop is closed: the run has ended at once
                self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Event) -> None:
        item = self._reader.read(event)
        for queue in self._queues if item else ():
            if item and not queue.channel.kinds.isdisjoint(item.kinds):
                queue.add(item)

    async def _serve(self, queue: _ChannelQueue) -> None:
        """Send what waits: what comes together goes together, and between two messages there is a pause."""
        while True:
            await _first_of(queue.filled, self._over, seconds=None)
            await _first_of(self._over, seconds=self._pace.gather)
            while queue.items:
                await self._send(queue)
                await _first_of(self._over, seconds=self._pace.between)
            if self._over.is_set():
                return

    async def _send(self, queue: _ChannelQueue) -> None:
        items, left_out = queue.taken()
        message = joined(self._project, self._reader.target, self._reader.run, items, left_out)
        delivery = NO_TIME
        try:
            delivery = await queue.channel.send(message)
        except (RalphError, OSError, ValueError) as error:
            delivery = Delivery(ok=False, said=error.what if isinstance(error, RalphError) else type(error).__name__)
        finally:
            queue.settle(delivery)

    async def farewell(self) -> None:
        """Send what is left, within the time for that, and end everything that still sends."""
        await asyncio.sleep(0)  # what was heard just now is taken up first
        self._over.set()
        _, late = await asyncio.wait(self._tasks, timeout=self._pace.farewell)
        for task in late:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def problems(self) -> Iterator[str]:
        """Say which messages were not delivered, and why."""
        for queue in self._queues:
            if queue.items:
                queue.settle(NO_TIME)
            if queue.failed:
                what = f"{queue.failed} of {queue.sent} notifications not delivered"
                yield f"{queue.channel.name}: {what}: {queue.problem}"


class _ChannelQueue:
    """What one channel has not sent yet, and how it went so far."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.items: deque[NewsItem] = deque()
        self.filled = asyncio.Event()
        self.sent, self.failed, self.problem = 0, 0, ""
        self._left_out = 0

    def add(self, item: NewsItem) -> None:
        if len(self.items) == MAX_WAITING:
            self.items.popleft()
            self._left_out += 1
        self.items.append(item)
        self.filled.set()

    def settle(self, delivery: Delivery) -> None:
        self.sent += 1
        if not delivery.ok:
            self.failed += 1
            self.problem = delivery.said

    def taken(self) -> tuple[list[NewsItem], int]:
        """Empty the queue; return what was in it, and how much more had no place."""
        items, left_out = list(self.items), self._left_out
        self.items.clear()
        self.filled.clear()
        self._left_out = 0
        return items, left_out


async def _first_of(*events: asyncio.Event, seconds: float | None) -> None:
    """Wait until one of these has happened, or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
