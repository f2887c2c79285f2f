"""What the journal costs a run, and how soon another process sees what is written into it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.measure import folder, seconds
from bench.table import Row
from ralph.journal.events import GateEnded, Noted
from ralph.journal.follow import follow
from ralph.journal.writer import Journal
from ralph.plan.model import GateResult
from ralph.process.redaction import Secrets

EVENTS, SEEN = 3000, 40
GATE = GateResult(name="tests", command="make test", passed=True, seconds=1.5, code=0, output="ok\n" * 20)
WRITER = f"""
import sys, time
from pathlib import Path
from ralph.journal.events import Noted
from ralph.journal.writer import Journal
with Journal(Path(sys.argv[1])) as journal:
    for _ in range({SEEN}):
        time.sleep(0.02)
        journal.emit(Noted(text=repr(time.monotonic())))
"""


def rows() -> list[Row]:
    with folder() as place:
        return [_emit(place / "emit"), _follow(place / "follow")]


def _emit(place: Path) -> Row:
    """A gate's end, cleaned of two secrets: an event of ordinary size."""
    event = GateEnded(work="US-001", attempt=1, result=GATE)
    with Journal(place, Secrets(["hunter2222", "correct-horse"]).text, "auth") as journal:
        times = [seconds(lambda: journal.emit(event)) * 1e6 for _ in range(EVENTS)]
    return Row(
        group="journal",
        what="journal: writing an event",
        measured=median(times),
        unit="µs",
        limit=50,
        parts={"best": min(times), "median": median(times)},
        parts_unit="µs",
    )


def _follow(place: Path) -> Row:
    """From just before an event is written in one process until another one has it."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(place)]):
        late = [
            (time.monotonic() - float(entry.event.text)) * 1e3
            for entry in follow(place)
            if isinstance(entry.event, Noted)
        ]
    return Row(
        group="journal",
        what="journal: until another process has an event",
        measured=median(late),
        unit="ms",
        limit=100,
        parts={"best": min(late), "worst": max(late)},
    )
