"""Ctrl-Z: what Ralph started stops together with Ralph, and so does the clock of its time limits."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph.process import clock, tree

Hook = Callable[[], object]
_hooks: list[tuple[Hook, Hook]] = []


@contextmanager
def noticing(before: Hook, after: Hook) -> Iterator[None]:
    """Call `before` when Ralph is about to stop, and `after` when it goes on."""
    _hooks.append((before, after))
    try:
        yield
    finally:
        _hooks.remove((before, after))


@contextmanager
def suspending() -> Iterator[None]:
    """Suspend everything on Ctrl-Z while the context is open. A SIGTSTP that was ignored at the start stays ignored."""
    loop = asyncio.get_running_loop()
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        yield
        return
    loop.time = clock.seconds  # type: ignore[method-assign]  # all its timers follow this clock
    loop.add_signal_handler(signal.SIGTSTP, _suspend)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)


def _suspend() -> None:
    """Suspend the whole tree; return when the shell continues it."""
    for before, _ in _hooks:
        before()
    stopped = tree.freeze()
    began = time.monotonic()
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        signal.raise_signal(signal.SIGTSTP)  # the kernel ignores it if no shell could continue us
    finally:
        signal.signal(signal.SIGTSTP, handler)
        clock.stood_for(time.monotonic() - began)
        tree.thaw(stopped)
        for _, after in _hooks:
            after()
