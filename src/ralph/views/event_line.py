"""An event in one line, as data: for `ralph logs --events` and other lists of events."""

from __future__ import annotations

from ralph.journal import encode
from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.plan.model import GateResult, PageResult, is_in_place
from ralph.text import one_line
from ralph.views import words

SKIPPED = ("base", "usage", "gates", "kept_in", "run", "target", "words")


def event_line(entry: JournalEntry) -> str:
    """The time, the name and what the event says."""
    return f"{one_line(entry.at)[11:19]} {one_line(entry.name):16} {event_text(entry)}"


def event_text(entry: JournalEntry, *known: str) -> str:
    """What the event says, without its time and name, and without the fields that the reader knows."""
    event = entry.event
    values = {**event.values} if isinstance(event, e.Unknown) else {**vars(event), **entry.more}
    parts = [_part(key, value) for key, value in values.items() if key not in (*SKIPPED, *known) and value]
    if isinstance(event, e.AttemptEnded) and is_in_place(event.gates):
        parts.append(words.IN_PLACE)
    return " ".join(parts)


def _part(key: str, value: object) -> str:
    match value:
        case GateResult():
            mark, where = words.gate_mark(value), words.IN_PLACE if value.in_place else ""
            return one_line(" · ".join(filter(None, (f"{mark} {value.command}", where, value.reason))))
        case PageResult():
            found = words.count(len(value.findings), "finding") if value.findings else ""
            return one_line(" · ".join(filter(None, (f"{'✓' if value.passed else '✗'} {value.page}", found))))
        case float():
            return f"{key}={value:.1f}"
        case _:
            return one_line(f"{key}={words.cut(words.first_line(_text(encode.jsonable(value))), 80)}")


def _text(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_text(part)}" for name, part in value.items() if part) or "unknown"
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
