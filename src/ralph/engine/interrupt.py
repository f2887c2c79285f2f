"""Handles a person's signals: the first stops the run cleanly, the second stops it at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from ralph.errors import EXIT_INTERRUPTED
from ralph.process import tree
from ralph.process.suspend import suspending

T = TypeVar("T")


class Interrupt:
    """The first signal cancels the running steps and lets the run finish; the second kills everything at once."""

    def __init__(self, outer: Interrupt | None = None) -> None:
        self._outer = outer  # the run's, if this one is for a single attempt: it ends that attempt too
        self.requested = False
        self.halted = False  # the steps must end, but not by a person's signal
        self.why = ""  # what the attempts say that were halted
        self.last_words: Callable[[], object] = lambda: None  # called after everything was killed, before the exit
        self._steps: set[asyncio.Task[Any]] = set()  # a step may return any type

    @contextmanager
    def scope(self, step: asyncio.Task[Any]) -> Iterator[None]:
        self._steps.add(step)
        if self.cuts_short:
            step.cancel()
        try:
            with self._outer.scope(step) if self._outer else nullcontext():
                yield
        finally:
            self._steps.discard(step)

    @property
    def cuts_short(self) -> bool:
        """Whether running steps must end."""
        return self.requested or self.halted or bool(self._outer and self._outer.cuts_short)

    def halt(self, why: str = "") -> None:
        """Cancel the running steps, as a person's signal would."""
        self.halted, self.why = True, why or self.why
        for step in self._steps:
            step.cancel()

    def request(self) -> None:
        if self.requested:
            tree.kill_everything()
            self.last_words()
            sys.stderr.write("\nralph: stopped at once. Run the same command again to resume.\n")
            os._exit(EXIT_INTERRUPTED)
        self.requested = True
        for step in self._steps:
            step.cancel()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle signals while the context is open. A SIGHUP that was ignored at the start (`nohup`) stays ignored."""
        loop = asyncio.get_running_loop()
        is_kept = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        numbers = (signal.SIGINT, signal.SIGTERM, *(() if is_kept else (signal.SIGHUP,)))
        for number in numbers:
            loop.add_signal_handler(number, self.request)
        try:
            with suspending():
                yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`; None if it was interrupted."""
        task = asyncio.create_task(work)
        with self.scope(task):
            try:
                return await task
            except asyncio.CancelledError:
                if not self.cuts_short:
                    raise
                return None
