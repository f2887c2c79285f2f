"""What the warden becomes when Ralph has died: it ends every process that Ralph started, and is gone.

It imports little, because each moment counts.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from ralph.process import cgroup
from ralph.process.brand import brand_for, brand_of
from ralph.process.table import mark_of, table, with_descendants

GRACE = 0.3
"""Seconds between TERM and KILL: git removes its locks, and a service closes its files."""
LONGEST = 10.0


def main(owner: str, group: str) -> None:
    began, unseen = time.monotonic(), 0
    _signal(started_by(owner), signal.SIGTERM, signal.SIGCONT)
    while unseen < 2 and time.monotonic() < began + LONGEST:
        time.sleep(0.02)
        found = started_by(owner)
        unseen = 0 if found else unseen + 1
        if time.monotonic() >= began + GRACE:
            _signal(found, signal.SIGKILL)
    if group:
        cgroup.end(Path(group))


def started_by(owner: str) -> set[int]:
    """Return every running process with the brand or a mark of `owner`, and what came from it."""
    brand, prefix = brand_for(owner), f"{owner}."
    entries = [entry for entry in table() if entry.pid != os.getpid()]
    roots = {entry.pid for entry in entries if brand_of(entry.pid) == brand or _is_marked(entry.pid, prefix)}
    return with_descendants(entries, roots) - {entry.pid for entry in entries if entry.dead}


def _is_marked(pid: int, prefix: str) -> bool:
    return (mark_of(pid) or "").startswith(prefix)


def _signal(pids: set[int], *numbers: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            for number in numbers:
                os.kill(pid, number)
