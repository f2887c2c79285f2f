"""Reads and writes plans by the tables of their formats, and keeps everything that the tables do not name.

Reading is simple and strict. Anything unusual goes to `plan_schema`, which builds pydantic models from the same tables
and explains every mistake. So a valid plan costs no more than parsing its JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from ralph import validation
from ralph.errors import RalphError
from ralph.plan.model import Task
from ralph.stores.fields import (
    ITS_FIELDS,
    ONLY_CHECKED,
    TEXT,
    Choice,
    Field,
    Flag,
    Kind,
    ListOf,
    Nullable,
    Number,
    Part,
    States,
    TableOf,
    Text,
    Value,
)
from ralph.validation import EXACT, Json, Rules, UnusualForm

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Read = Callable[[Value], Value]
DIGITS = 3
WORDS = ("title", "description", "criteria")
"""The attributes of a task that a person can change while a run is under way."""
REQUIRED: Value = object()


class _IfPresent:
    """An empty value: it is written only if the file already has the field."""

    def __init__(self, value: object) -> None:
        self.value = value


@dataclass(eq=False)
class Codec:
    """The names and states of one format, and how its parts are read and written."""

    camel: bool = False  # names are in camel case
    states: States | None = None
    _readers: dict[tuple[Kind, bool], Read] = field(default_factory=dict, repr=False)

    def key(self, name: str) -> str:
        """Return a field's name in this format."""
        first, *rest = name.split("_")
        return first + "".join(map(str.capitalize, rest)) if self.camel else name

    def owned(self, part: Part[T]) -> tuple[str, ...]:
        """Return the names of the fields that Ralph writes."""
        return tuple(self.key(one.name) for one in part.fields if one.own)

    def begun(self, entries: Iterable[Json]) -> str | None:
        """Return the first task whose state says that it has begun."""
        names, wanted = (self.states.fields, self.states.begun) if self.states else ((), None)
        return next((str(entry["id"]) for entry in entries if tuple(map(entry.get, names)) == wanted), None)

    def read(self, part: Part[T], entry: Value, *, checked: bool = False) -> T:
        """Read an entry or raise `UnusualForm`; `checked`: the schema has accepted it."""
        made: T = self._reader(part, checked)(entry)
        return made

    def _reader(self, kind: Kind, checked: bool) -> Read:
        known = self._readers.get((kind, checked))
        if known is None:
            known = self._readers[kind, checked] = self._make_reader(kind, checked)
        return known

    def _make_reader(self, kind: Kind, checked: bool) -> Read:
        match kind:
            case Text():
                return _text(kind, checked)
            case Number():
                return _number(kind, checked)
            case Flag():
                return _of_type(bool)
            case Choice():
                return _choice(kind)
            case Nullable(of, none):
                some = self._reader(of, checked)
                return lambda value: none if value is None else some(value)
            case ListOf():
                return _list(kind, self._reader(kind.of, checked), checked)
            case TableOf(of=of):
                one, table = self._reader(of, checked), _of_type(dict)
                return lambda value: {name: one(held) for name, held in table(value).items()}
            case _:
                return self._part(kind, checked)

    def _part(self, part: Part[T], checked: bool) -> Callable[[Value], T]:
        readers = [(one, self._reader(one.kind, checked)) for one in part.fields]
        plan = [
            (self.key(one.name), one.attr, REQUIRED if one.required else inner(one.absent), inner)
            for one, inner in readers
        ]
        states = self._states(part)

        def read(entry: Value) -> T:
            if type(entry) is not dict:
                raise UnusualForm
            values: dict[str, Value] = {}
            for key, attr, absent, one in plan:
                value = one(entry[key]) if key in entry else absent
                if value is REQUIRED:
                    raise UnusualForm
                if attr == ITS_FIELDS:
                    values |= value
                elif attr != ONLY_CHECKED:
                    values[attr] = value
            if states:
                values["state"] = states.read(tuple(map(values.pop, states.fields)))
            return part.into(**values)

        return read

    def write(self, part: Part[T], value: object) -> Json:
        """Return a new entry with the fields that Ralph writes."""
        made: Json = {}
        self.update(part, made, value)
        return made

    def update(self, part: Part[T], known: Json, value: object, *, begun: bool = False) -> None:
        """Write Ralph's fields into an entry, and a task's words if a person has changed them; keep everything else."""
        _update(known, self._entry(part, value, begun))
        if isinstance(value, Task):
            self._reword(part, known, value)

    def _reword(self, part: Part[T], known: Json, task: Task) -> None:
        for one in (one for one in part.fields if one.attr in WORDS and not one.own):
            key, words = self.key(one.name), getattr(task, one.attr)
            if self._reader(one.kind, True)(known.get(key, one.absent)) == words:
                continue
            written = self._written(one.kind, words)
            try:
                self._reader(one.kind, False)(written)
            except UnusualForm:
                raise RalphError(f"{task.id}: this is no valid {key}.", remedy="Nothing was changed.") from None
            known[key] = written

    def _entry(self, part: Part[T], value: Value, begun: bool = False) -> Json:
        states = self._states(part)
        held = dict(zip(states.fields, states.write(value.state, begun=begun), strict=True)) if states else {}
        entry: Json = {}
        for one in part.fields:
            if one.own and one.name in held:
                entry[self.key(one.name)] = held[one.name]
            elif one.own:
                entry[self.key(one.name)] = self._field(
                    one, value if one.attr == ITS_FIELDS else getattr(value, one.attr)
                )
        return entry

    def _field(self, one: Field, value: Value) -> object:
        written = self._written(one.kind, value)
        if not one.when_set:
            return written
        nothing = self._written(one.kind, self._reader(one.kind, True)(one.absent))
        return _IfPresent(written) if written == nothing else written

    def _written(self, kind: Kind, value: Value) -> object:
        match kind:
            case Nullable(of, none):
                return None if value is None or value == none else self._written(of, value)
            case Number(rounded=True):
                return round(value, DIGITS)
            case Choice(into=into):
                return value.value if into else value
            case ListOf(of=of):
                return [self._written(of, one) for one in value]
            case Part():
                return self._entry(kind, value)
            case _:
                return value

    def _states(self, part: Part[T]) -> States | None:
        """Return the states of a part, if it has the fields for them."""
        names = {one.name for one in part.fields}
        return self.states if self.states and names.issuperset(self.states.fields) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Format(Generic[T]):
    """One kind of file: its codec, its top-level part, and the rules that the shape cannot express."""

    codec: Codec
    part: Part[T]
    title: str  # of the published schema
    remedy: str = ""
    rules: Rules = lambda _document: ()
    # rejects a version that this Ralph does not know
    refuse: Callable[[Json, str], None] = lambda _document, _name: None

    def load(self, data: bytes, *, name: str) -> tuple[Json, T]:
        """Return the document and its value, or raise an error that lists all mistakes."""
        validation.weigh(data, name=name)
        try:
            document = validation.parse_plainly(data)
            validation.check_lengths(document, name=name)
            if any(True for _ in self.rules(document)):
                raise UnusualForm
            return document, self.codec.read(self.part, document)
        except (UnusualForm, ValueError, RecursionError):
            return self.check(data, name=name)

    def check(self, data: bytes, *, name: str) -> tuple[Json, T]:
        """Do the same with the schema, which is slower."""
        document = validation.parse_object(data, name=name)
        self.refuse(document, name)
        value, mistakes = self.explain(data)
        mistakes += self.rules(document)
        if mistakes or value is None:
            raise validation.Mistakes(name, mistakes, self.remedy)
        return document, value

    def explain(self, data: bytes) -> tuple[T | None, list[str]]:
        """Parse a file with the schema; return its value, or every mistake in its shape."""
        checked, mistakes = validation.check(self.model, validation.without_mark(data))
        if checked is None:
            return None, mistakes
        try:
            json.loads(data.decode("utf-8-sig"), parse_float=validation.finite)
        except UnusualForm:
            return None, ["a number is too large"]
        return self.codec.read(self.part, checked.model_dump(by_alias=True), checked=True), []

    @property
    def model(self) -> type[BaseModel]:
        from ralph.stores import plan_schema

        return plan_schema.model(self.codec, self.part)

    def schema_text(self) -> str:
        from ralph.stores import plan_schema

        return plan_schema.text(self.model, self.title)


def entries(document: Json, key: str) -> list[Json]:
    """Return the objects in a list of a document, without copying them."""
    listed = document.get(key)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def render(document: Json) -> bytes:
    """Serialize a document as a file's bytes."""
    from pydantic_core import to_json

    return to_json(document, indent=2) + b"\n"


def _of_type(wanted: type, other: type | None = None) -> Read:
    def read(value: Value) -> Value:
        if type(value) is not wanted and type(value) is not other:
            raise UnusualForm
        return value

    return read


def _text(kind: Text, checked: bool) -> Read:
    if checked or kind == TEXT:
        return _of_type(str)
    matches = re.compile(kind.pattern).search

    def read(value: Value) -> Value:
        if type(value) is not str or not kind.min_length <= len(value) <= kind.max_length:
            raise UnusualForm
        if not matches(value) or value.endswith("\n"):
            raise UnusualForm
        return value

    return read


def _number(kind: Number, checked: bool) -> Read:
    types = (int,) if kind.whole else (int, float)
    if checked:
        return _of_type(*types)
    least = -EXACT if kind.least is None else kind.least

    def read(value: Value) -> Value:
        if type(value) not in types or not least <= value <= EXACT:
            raise UnusualForm
        return value

    return read


def _choice(kind: Choice) -> Read:
    known = {(type(value), value): kind.into(value) if kind.into else value for value in kind.values}

    def read(value: Value) -> Value:
        if type(value) not in (str, int) or (type(value), value) not in known:
            raise UnusualForm
        return known[type(value), value]

    return read


def _list(kind: ListOf, one: Read, checked: bool) -> Read:
    into, min_length, max_length = kind.into, kind.min_length, kind.max_length

    def read(value: Value) -> Value:
        if type(value) is not list or (not checked and not min_length <= len(value) <= max_length):
            raise UnusualForm
        return into([one(item) for item in value])

    return read


def _update(known: Json, new: Json) -> None:
    for key, value in new.items():
        if not isinstance(value, _IfPresent):
            known[key] = _joined(known.get(key), value)
        elif key in known:
            known[key] = _joined(known[key], value.value)


def _joined(known: object, new: object) -> object:
    """Return the new value, with the fields of the old one that Ralph does not know."""
    if isinstance(new, dict):
        entry = known if isinstance(known, dict) else {}
        _update(entry, new)
        return entry
    if isinstance(new, list):
        beside = known if isinstance(known, list) and len(known) == len(new) else [None] * len(new)
        return [_joined(old, fresh) for old, fresh in zip(beside, new, strict=True)]
    return new
