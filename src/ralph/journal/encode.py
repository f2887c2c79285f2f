"""Encodes an event as one line of JSON: the envelope first, then the event's own fields."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum

from ralph.journal.event import Event, Unknown
from ralph.text import escaped

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


def _line(head: dict[str, object], event: Event, max_length: int | None = None, max_items: int | None = None) -> bytes:
    if isinstance(event, Unknown):
        name, body = event.called, {key: jsonable(value, max_length, max_items) for key, value in event.values.items()}
    else:
        name, body = (
            event.name(),
            {key: jsonable(getattr(event, key), max_length, max_items) for key in _names(type(event))},
        )
    about = {key: body.pop(key) for key in ("work", "attempt") if key in body}
    line = _dumps({**head, **about, "event": name, **body})
    return escaped(line).encode(errors="replace") + b"\n"


def jsonable(value: object, max_length: int | None = None, max_items: int | None = None) -> object:
    """Convert an event's value to JSON data: at most `max_length` characters of a text, `max_items` items of a list."""
    match value:
        case str():
            return value[:max_length]
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Enum():
            return value.value
        case dict():
            return {key: jsonable(item, max_length, max_items) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item, max_length, max_items) for item in value[:max_items]]
        case _:
            return {name: jsonable(getattr(value, name), max_length, max_items) for name in _names(type(value))}


def _names(of_class: type) -> tuple[str, ...]:
    known = _known.get(of_class)
    if known is None:
        assert is_dataclass(of_class), "events consist of plain values and dataclasses"
        known = _known[of_class] = tuple(field.name for field in fields(of_class))
    return known


def now() -> str:
    """Return the current time in the format of all of Ralph's files."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
