"""Decodes the lines of a journal; no other module parses them.

A journal may be written by another version of Ralph, truncated by a crash, or forged by an agent. So nothing here
raises: a line that is not an event is None, and an event of another shape is an `Unknown`.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import EnumMeta

from ralph.journal.encode import MAX_LINE
from ralph.journal.events import EVENTS, AttemptEvent, Event, Unknown

Json = dict[str, object]
Reader = Callable[[object], object]
HEAD = frozenset(("v", "seq", "at", "run", "target", "event"))
OLD = 0
"""The version of lines without an envelope."""
RENAMED = {"run_started": {"place": "slots"}}
"""By event: fields with another name in older journals, and their names now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """An event with its envelope."""

    v: int  # 0: from a Ralph without envelopes, so `seq` is 0 and `target` may be empty
    seq: int
    at: str
    run: str
    target: str
    event: Event
    more: Mapping[str, object]  # fields of a newer Ralph that this one does not know
    line: str  # the original text

    @property
    def name(self) -> str:
        return self.event.called if isinstance(self.event, Unknown) else self.event.name()

    @property
    def is_old(self) -> bool:
        return self.v == OLD

    @property
    def moment(self) -> float:
        """When it was written, in seconds since 1970; 0 if that is not known."""
        return moment(self.at)


def moment(at: str) -> float:
    """Return the seconds since 1970 of a time in the journal; 0 if it is none."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def decode(line: bytes | str) -> JournalEntry | None:
    """Decode a line; return None if it is not an event."""
    if len(line) > MAX_LINE:
        return None
    text = _sound(line.decode(errors="replace") if isinstance(line, bytes) else line).strip()
    try:
        found = _loads(text)
        return _entry(found, text) if isinstance(found, dict) and isinstance(found.get("event"), str) else None
    except (ValueError, RecursionError):
        return None


def _entry(found: Json, text: str) -> JournalEntry:
    version, seq = (_whole(found.get(key)) for key in ("v", "seq"))
    name, at, run, target = (_sound(str(found.get(key) or "")) for key in ("event", "at", "run", "target"))
    body = {key: value for key, value in found.items() if key not in HEAD}
    event, more = _event(name, _modern(name, body, is_old=not version), run, target, is_old=not version)
    return JournalEntry(v=version, seq=seq, at=at, run=run, target=target, event=event, more=more, line=text)


def _modern(name: str, body: Json, *, is_old: bool) -> Json:
    """Rename the fields of an older Ralph to their current names."""
    names = RENAMED.get(name)
    body = {names.get(key, key): value for key, value in body.items()} if names else body
    cls = EVENTS.get(name)
    is_of_attempt = cls is not None and issubclass(cls, AttemptEvent)
    return {**body, "attempt": body.pop("number", 0)} if is_old and is_of_attempt else body


def _event(name: str, body: Json, run: str, target: str, *, is_old: bool) -> tuple[Event, Json]:
    cls = EVENTS.get(name)
    if cls is not None and cls.kept:
        readers = _readers(cls)
        given = {**body, "run": run, "target": target}
        try:
            known = {key: read(given[key]) for key, read in readers.items() if key in given}
            lacking = {key: _empty(cls, key) for key in readers.keys() - known.keys()} if is_old else {}
            more = {key: value for key, value in body.items() if key not in readers}
            return cls(**known, **lacking), _sound_values(more)
        except (ValueError, TypeError, OverflowError):
            pass
    return Unknown(called=name, values=_sound_values(body)), {}


def _readers(cls: type) -> dict[str, Reader]:
    """Return the readers for the fields of an event or a value in it; created on first use."""
    known = _known.get(cls)
    if known is None:
        hints = typing.get_type_hints(cls)
        known = _known[cls] = {field.name: _reader(hints[field.name]) for field in fields(cls)}
    return known


def _reader(wanted: object) -> Reader:
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is tuple:
        return _each(_reader(inner[0]))
    if origin in (types.UnionType, typing.Union):
        (other,) = (one for one in inner if one is not type(None))
        return _or_none(_reader(other))
    if isinstance(wanted, EnumMeta):
        return wanted
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _made(wanted)
    return _SCALARS[wanted]


def _each(read: Reader) -> Reader:
    def reader(value: object) -> object:
        if not isinstance(value, list):
            raise TypeError("not a list")
        return tuple(map(read, value))

    return reader


def _or_none(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _made(cls: type) -> Reader:
    def reader(value: object) -> object:
        if not isinstance(value, dict):
            raise TypeError("not an object")
        return cls(**{key: read(value[key]) for key, read in _readers(cls).items() if key in value})

    return reader


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        raise TypeError("not a whole number")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return _sound(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError("not a number")
    return float(value)


_SCALARS: dict[object, Reader] = {str: _text, int: _int, bool: _bool, float: _number}


def _empty(cls: type[Event], key: str) -> object:
    """Return the value of a field that an older Ralph did not write."""
    field = cls.__dataclass_fields__[key]
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    wanted = typing.get_type_hints(cls)[key]
    if typing.get_origin(wanted) is tuple:
        return ()
    if wanted in _SCALARS:
        return wanted()
    raise TypeError(f"{key} is missing")


def _whole(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _sound(text: str) -> str:
    """Replace unpaired surrogates, which JSON can contain, so that the text can be written anywhere."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _sound_values(values: Json) -> Json:
    return {_sound(key): _sound_value(value) for key, value in values.items()}


def _sound_value(value: object) -> object:
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, dict):
        return _sound_values(value)
    return [_sound_value(item) for item in value] if isinstance(value, list) else value


def _refuse(constant: str) -> typing.NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


_known: dict[type, dict[str, Reader]] = {}
_loads = json.JSONDecoder(parse_constant=_refuse).decode
