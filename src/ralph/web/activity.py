"""The events of a run, the newest first, a page at a time."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from ralph.frozen import Frozen
from ralph.journal.decode import JournalEntry
from ralph.journal.reader import events, runs
from ralph.report.history import names_of
from ralph.views.event_line import event_text
from ralph.views.words import cut

PAGE = 300
MAX_TEXT = 400
MAX_RUNS = 30


class EventRow(Frozen):
    """One event in the list."""

    seq: int
    at: float
    name: str
    work: str
    attempt: int
    text: str


class ActivityPage(Frozen):
    """A part of a run's events."""

    run: str  # empty: the plan has no run
    rows: tuple[EventRow, ...]
    before: int  # the number of the oldest one; 0: there are none before it
    runs: tuple[str, ...]  # of the plan, the newest first


def activity(logs: Path, target: str, run: str, before: str) -> ActivityPage:
    """Return the events of a run of a plan before a number; without a run, of the newest one."""
    names = names_of(target)
    known = [folder for folder in reversed(runs(logs)) if _target(folder) in names][:MAX_RUNS]
    folder = next((one for one in known if one.name == run), known[0] if known else None)
    end = int(before) if before.isascii() and before.isdecimal() and len(before) < 10 else 0
    found: deque[JournalEntry] = deque(maxlen=PAGE)
    for entry in events(folder) if folder else ():
        if entry.target in names and (not end or entry.seq < end):
            found.append(entry)
    rows = tuple(_row(entry) for entry in found)
    first = rows[0].seq if rows else 0
    return ActivityPage(
        run=folder.name if folder else "",
        rows=tuple(reversed(rows)),
        before=first if first > 1 and len(rows) == PAGE else 0,
        runs=tuple(one.name for one in known),
    )


def _row(entry: JournalEntry) -> EventRow:
    return EventRow(
        seq=entry.seq,
        at=entry.moment,
        name=entry.name,
        work=cut(str(getattr(entry.event, "work", "")), 100),
        attempt=getattr(entry.event, "attempt", 0),
        text=event_text(entry, "work", "attempt")[:MAX_TEXT],
    )


def _target(folder: Path) -> str:
    return next((entry.target for entry in events(folder)), "")
