"""Encodes an event as one line of JSON: the envelope first, then the event's own fields."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum

from ralph.journal.event import Event, Unknown

VERSION = 1
MAX_LINE = 1 << 20
"""The maximum bytes of a line: the writer truncates longer ones, and readers skip them."""
CUT_TEXT, CUT_LIST = 1_000, 100

_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_known: dict[type, tuple[str, ...]] = {}  # the field names of each class written so far


def encode(event: Event, *, seq: int, run: str, target: str, at: str = "") -> bytes:
    """Encode an event as a journal line; truncate texts and lists if it is too long."""
    head = {"v": VERSION, "seq": seq, "at": at or now(), "run": run, "target": target}
    line = _line(head, event)
    if len(line) <= MAX_LINE:
        return line
    return _line(head, event, CUT_TEXT, CUT_LIST)


def _line(head: dict[str, object], event: Event, longest: int | None = None, most: int | None = None) -> bytes:
    if isinstance(event, Unknown):
        name, body = event.called, {key: plain(value, longest, most) for key, value in event.values.items()}
    else:
        name, body = event.name(), {key: plain(getattr(event, key), longest, most) for key in _names(type(event))}
    about = {key: body.pop(key) for key in ("work", "attempt") if key in body}
    return (_dumps({**head, **about, "event": name, **body}) + "\n").encode(errors="replace")


def plain(value: object, longest: int | None = None, most: int | None = None) -> object:
    """Convert an event's value to JSON data: at most `longest` characters of a text, `most` items of a list."""
    match value:
        case str():
            return value[:longest]
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Enum():
            return value.value
        case dict():
            return {key: plain(item, longest, most) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, longest, most) for item in value[:most]]
        case _:
            return {name: plain(getattr(value, name), longest, most) for name in _names(type(value))}


def _names(of_class: type) -> tuple[str, ...]:
    known = _known.get(of_class)
    if known is None:
        assert is_dataclass(of_class), "events consist of plain values and dataclasses"
        known = _known[of_class] = tuple(field.name for field in fields(of_class))
    return known


def now() -> str:
    """Return the current time in the format of all of Ralph's files."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
