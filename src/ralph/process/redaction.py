"""Keeps secrets out of everything that Ralph writes: known values in many forms, and well-known shapes.

There is one `Secrets` for each run. It cleans texts, values such as events and step results, and streams of bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from ralph.errors import RalphError
from ralph.process.secret_shapes import open_at, shapes_in
from ralph.process.secret_values import MIN_SECRET, encoded, secrets_in, secrets_of_project
from ralph.text import PlainStream

T = TypeVar("T")
HIDDEN = b"[secret]"
HEAD = 2
MAX_KNOWN = 256
SMALL = 4_096
MAX_COLOUR = 32
MAX_GLUE = 512
"""How many bytes of line breaks and colours may be inside a value that two pieces of output share."""

_COLOUR = rb"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033)\[[0-?]*[ -/]*[@-~]"
COLOUR = re.compile(_COLOUR)
ESCAPED = re.compile(rb"\\(?:u001[bB]|x1[bB]|033)\[")
GLUE = re.compile(_COLOUR + rb"|[\r\n]|\\[rn]")
"""What programs put into the middle of a value: colours and line breaks, both also as JSON writes them."""
CUT_OFF = re.compile(rb"(?:\x1b|\\(?:u(?:0(?:0(?:1[bB]?)?)?)?|x(?:1[bB]?)?|0(?:33?)?)?)(?:\[[0-?]*[ -/]*)?\Z")
"""Glue at the end of a piece that the next piece completes."""

COMMON = b" etaoinsrhldcumpfgyw\"\n.,b-/v:_(0=1)k\t2STAECIN'3xRLDPMO5"
"""The most frequent bytes of ordinary output, most frequent first."""
_FREQUENCY = {byte: len(COMMON) - rank for rank, byte in enumerate(COMMON)}


class Secrets:
    """Finds secrets by value and by shape; never changes, so that a whole run can share it."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = self._forms = {GLUE.sub(b"", form): value for form, value in encoded(values).items()}
        self.names: dict[str, str] = dict(values) if isinstance(values, Mapping) else {}
        """The variable of each value, where it is known."""
        self._longest = max(map(len, forms), default=0)
        self._known = lru_cache(maxsize=1024)(self._text)  # events repeat most of their texts
        self._by_rare = _by_rare_byte(forms)
        self._by_head: dict[bytes, list[bytes]] = {}
        for form in forms:
            self._by_head.setdefault(form[:HEAD], []).append(form)
        self._firsts = frozenset(head[:1] for head in self._by_head)

    @classmethod
    def of(cls, environment: Mapping[str, str], *folders: Path, more: Mapping[str, str] | None = None) -> Secrets:
        """Return the secrets of an environment and of the `.env` files in some folders, and those that are known."""
        found = dict(more or {})
        for folder in folders:
            found |= secrets_of_project(folder)
        return cls(found | secrets_in(environment))

    def stream(self) -> Redactor:
        return Redactor(self)

    def log_stream(self) -> LogStream:
        """Return a stream for a log: without secrets, and safe to show on a terminal."""
        return LogStream(self)

    def data(self, data: bytes) -> bytes:
        """Return data without secrets."""
        return _replaced(data, self.spans(data))

    def name_of(self, value: str) -> str:
        """Return the variable that has a value."""
        return self.names.get(value, "a variable")

    @staticmethod
    def without(data: bytes, places: Iterable[tuple[int, int]]) -> bytes:
        """Return data with these places replaced."""
        return _replaced(data, _merged(places))

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return text if len(text) < MIN_SECRET else self._known(text) if len(text) <= MAX_KNOWN else self._text(text)

    def _text(self, text: str) -> str:
        data = text.encode(errors="surrogatepass")
        found = self.spans(data)
        return _replaced(data, found).decode(errors="surrogatepass") if found else text

    def clean(self, value: T) -> T:
        """Return a value of plain data and dataclasses with every text in it cleaned."""
        return cleaned(value, self.text)

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Clean the errors that leave the block, because a person sees them."""
        try:
            yield
        except RalphError as error:
            error.what, error.remedy = self.text(error.what), self.text(error.remedy)
            error.details = self.clean(error.details)
            raise

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where secrets are, in order and without overlap."""
        found = self._values_in(data)
        found += _mapped(data, COLOUR, shapes_in) if _may_have_colours(data) else shapes_in(data)
        return _merged(found) if found else found

    def values_in(self, data: bytes) -> dict[str, list[tuple[int, int]]]:
        """Return the known values in data, in whatever form, and where each is."""
        found: dict[str, list[tuple[int, int]]] = {}
        for form in self._forms_in(data):
            places = _mapped(data, GLUE, lambda text, form=form: _all_of((form,), text))  # type: ignore[misc]
            found.setdefault(self._forms[form], []).extend(places)
        return found

    def _values_in(self, data: bytes) -> list[tuple[int, int]]:
        hits = self._forms_in(data)
        return _mapped(data, GLUE, lambda text: _all_of(hits, text)) if hits else []

    def _forms_in(self, data: bytes) -> list[bytes]:
        possible = [form for rare, forms in self._by_rare.items() if rare in data for form in forms]
        joined = _joined(data) if possible else b""
        return [form for form in possible if form in joined]

    def open_at(self, data: bytes) -> int:
        """Return where a secret begins that may continue after the end of `data`; its length if there is none."""
        last = data[-MAX_COLOUR:]
        if b"\x1b" in last or b"\\" in last:
            cut_off = CUT_OFF.search(last)
            data = data[: len(data) - len(last) + cut_off.start()] if cut_off else data
        begins = _open_shape(data)
        if not self._longest:
            return begins
        start = max(0, len(data) - self._longest - MAX_GLUE)
        tail = data[start:]
        if self._open_value(_joined(tail)) is None:
            return begins
        text = StrippedData(tail, GLUE)
        value = self._open_value(text.stripped)
        return begins if value is None else min(begins, start + text.at(value))

    def _open_value(self, data: bytes) -> int | None:
        """Return where a value begins that is not complete."""
        least = max(0, len(data) - self._longest + 1)
        found = []
        for head, forms in self._by_head.items():
            at = data.find(head, least)
            while at >= 0:
                rest = data[at:]
                if any(form.startswith(rest) and form != rest for form in forms):
                    found.append(at)
                    break
                at = data.find(head, at + 1)
        if not found and data[-1:] in self._firsts:
            found.append(len(data) - 1)
        return min(found, default=None)


class Redactor:
    """Replaces secrets in a stream of bytes, even if one is split between two pieces."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = b""
        self._before = b""  # what was let out last: whether a token begins depends on it

    def feed(self, data: bytes) -> bytes:
        # of a large piece, which costs most to copy, the first byte may well begin a token
        return self._let_out(self._before if len(data) < SMALL else b"", data, self._secrets.open_at)

    def flush(self) -> bytes:
        return self._let_out(self._before, b"", len)

    def _let_out(self, before: bytes, data: bytes, until: Callable[[bytes], int]) -> bytes:
        data = b"".join((before, self._held, data)) if before or self._held else data
        begin = len(before)
        cut = max(begin, until(data))
        spans = [(max(begin, first), end) for first, end in self._secrets.spans(data) if first < cut and end > begin]
        cut = max(cut, spans[-1][1]) if spans else cut
        self._held, self._before = data[cut:], data[max(0, cut - MAX_COLOUR) : cut]
        return _replaced(data[:cut], spans)[begin:]  # slices of all of it are no copies


class LogStream:
    """Takes a program's output piece by piece, and gives what may be in a log."""

    def __init__(self, secrets: Secrets) -> None:
        self._redactor, self._plain = Redactor(secrets), PlainStream()

    def feed(self, data: bytes) -> bytes:
        return self._plain.feed(self._redactor.feed(data))

    def flush(self) -> bytes:
        return self._plain.feed(self._redactor.flush(), is_last=True)


class StrippedData:
    """Data without colours and line breaks, which knows where each of its bytes was."""

    def __init__(self, data: bytes, glue: re.Pattern[bytes]) -> None:
        parts, self._starts, self._offsets = [], [0], [0]
        size, end = 0, 0
        for found in glue.finditer(data):
            parts.append(data[end : found.start()])
            size += found.start() - end
            end = found.end()
            self._starts.append(size)
            self._offsets.append(end - size)
        self.stripped = b"".join((*parts, data[end:])) if parts else data

    def at(self, position: int) -> int:
        return position + self._offsets[bisect_right(self._starts, position) - 1]


def _mapped(
    data: bytes, glue: re.Pattern[bytes], find: Callable[[bytes], Iterable[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Return what is found in data without glue, as places in the data itself."""
    text = StrippedData(data, glue)
    return [(text.at(begin), text.at(end - 1) + 1) for begin, end in find(text.stripped)]


def _may_have_colours(data: bytes) -> bool:
    return b"\x1b" in data or (b"\\" in data and ESCAPED.search(data) is not None)


def _open_shape(data: bytes) -> int:
    if not _may_have_colours(data[-2 * MAX_GLUE :]):
        return open_at(data)
    text = StrippedData(data, COLOUR)
    begins = open_at(text.stripped)
    return text.at(begins) if begins < len(text.stripped) else len(data)


def _joined(data: bytes) -> bytes:
    """Return data without glue, the fast way: most data has no colours."""
    if _may_have_colours(data):
        return GLUE.sub(b"", data)
    data = data.replace(b"\n", b"")
    if b"\r" in data:
        data = data.replace(b"\r", b"")
    return data.replace(b"\\n", b"").replace(b"\\r", b"") if b"\\" in data else data


def _all_of(forms: Iterable[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    for form in forms:
        at = data.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = data.find(form, at + 1)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _replaced(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    parts, rest = [], 0
    for begin, end in spans:
        parts += [data[rest:begin], HIDDEN]
        rest = end
    return b"".join((*parts, data[rest:])) if parts else data


def _by_rare_byte(forms: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Group forms by a byte that all of them have and ordinary output hardly has, in as few groups as possible."""
    left, groups = set(forms), dict[bytes, list[bytes]]()
    while left:
        having: dict[int, list[bytes]] = {}
        for form in left:
            for byte in set(form):
                having.setdefault(byte, []).append(form)
        best = min(having, key=lambda byte: (_FREQUENCY.get(byte, 0) // 8, -len(having[byte])))
        groups[bytes([best])] = having[best]
        left.difference_update(having[best])
    return groups


def cleaned(value: T, clean: Callable[[str], str]) -> T:
    """Return a value with every text in it cleaned; what needs no cleaning is the same object."""
    return _cleaned(value, clean)  # type: ignore[return-value]  # it has the same type


def _cleaned(value: object, clean: Callable[[str], str]) -> object:
    match value:
        case Enum() | bool() | int() | float() | None:
            return value
        case str():
            return clean(value)
        case tuple() | list() | frozenset():
            items = [_cleaned(item, clean) for item in value]
            return value if all(map(lambda a, b: a is b, items, value)) else type(value)(items)
        case dict():
            values = {key: _cleaned(item, clean) for key, item in value.items()}
            return value if all(values[key] is item for key, item in value.items()) else values
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _cleaned_fields(value, clean)
        case _:
            return value


def _cleaned_fields(value: object, clean: Callable[[str], str]) -> object:
    changed = {}
    for name in _names(type(value)):
        old = getattr(value, name)
        new = _cleaned(old, clean)
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value  # type: ignore[type-var]  # the caller has checked


_known: dict[type, tuple[str, ...]] = {}


def _names(of_class: type) -> tuple[str, ...]:
    known = _known.get(of_class)
    if known is None:
        known = _known[of_class] = tuple(field.name for field in fields(of_class))
    return known
