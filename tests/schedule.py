"""Where the tests work, which worker gets which test, and in what order: hooks of pytest, for `conftest.py`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

MEMORY = "/dev/shm"
ROOM = 2 << 30
"""Bytes that must be free in memory; the copies of a kill test take less than 100 MB, other tests far less."""
TOGETHER = {"tests/integration/test_pages.py"}
"""Modules that one worker runs, because their tests share a fixture that takes many seconds."""


def pytest_configure() -> None:
    """Work in memory if possible: waiting for a disk proves nothing, and `kill -9` leaves the same files.

    Signals act as on a terminal, also if the tests run in the background or under `nohup`. Test modules are compiled
    once, also where Python is told to keep no bytecode: each worker would take five seconds for it, every time.
    """
    sys.dont_write_bytecode = False
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    if in_memory(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def in_memory(folder: str) -> bool:
    """Return whether tests can work in a folder: it is writable, programs can run there, and it has room."""
    if not sys.platform.startswith("linux") or not os.access(folder, os.W_OK | os.X_OK):
        return False
    about = os.statvfs(folder)
    return not about.f_flag & os.ST_NOEXEC and about.f_bavail * about.f_frsize >= ROOM


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Iterator[int]:
    """One worker more than processors, because some test always waits for a process, a signal or a server."""
    return (yield) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """`--dist loadgroup` hands out one test after the other, and a module of `TOGETHER` as a whole."""
    return OneByOne(config, log) if config.getvalue("dist") == "loadgroup" else None


class OneByOne(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if module in TOGETHER else nodeid


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest tests first, so that no worker is alone with one of them in the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
