"""Waits until files change: woken by the kernel if possible, otherwise by polling ten times a second."""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time
from contextlib import suppress
from pathlib import Path

POLL = 0.1  # seconds between checks if the kernel does not wake us
MODIFY, ATTRIB, CLOSE_WRITE, MOVED_TO, CREATE, DELETE_SELF, MOVE_SELF = 0x2, 0x4, 0x8, 0x80, 0x100, 0x400, 0x800
IN_FILE = MODIFY | ATTRIB | CLOSE_WRITE | DELETE_SELF | MOVE_SELF
IN_FOLDER = CREATE | MOVED_TO | DELETE_SELF | MOVE_SELF
FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class FolderWatch:
    """Waits for changes of files; for a file that does not exist yet, watches the nearest folder above it."""

    def __init__(self, *paths: Path) -> None:
        self.paths = set(paths)
        self._libc = ctypes.CDLL(None)
        self._descriptor = self._libc.inotify_init1(FLAGS) if sys.platform == "linux" else -1

    def __enter__(self) -> FolderWatch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What can be waited for together with other things; empty if only polling works here."""
        return (self._descriptor,) if self._descriptor >= 0 else ()

    def arm(self) -> None:
        """Watch what exists now. Then read the files and wait: a change in between ends the wait."""
        for path in self.paths if self._descriptor >= 0 else ():
            there = next((one for one in (path, *path.parents) if os.path.lexists(one)), path)
            mask = IN_FILE if there == path else IN_FOLDER
            # if it fails, the wait ends by its timeout
            self._libc.inotify_add_watch(self._descriptor, os.fsencode(there), mask)

    def wait(self, seconds: float) -> None:
        """Wait until something happened, at most this long."""
        if self._descriptor < 0:
            time.sleep(min(POLL, seconds))
        elif select.select([self._descriptor], [], [], seconds)[0]:
            self._drain()

    async def happened(self, seconds: float) -> None:
        """Do the same, asynchronously."""
        import asyncio  # programs that only wait do without

        if self._descriptor < 0:
            await asyncio.sleep(min(POLL, seconds))
            return
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, woken.set)
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
            self._drain()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(self._descriptor)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._descriptor, 1 << 16):
                pass
