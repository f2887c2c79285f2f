"""The base of the sections of `ralph.config.json`: their annotations say what each value is, must be and means.

Sections are read plainly. `config_schema` makes pydantic models from the same annotations, for anything unusual.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from ralph.frozen import Frozen
from ralph.validation import EXACT, Json, UnusualForm

S = TypeVar("S", bound="ConfigSection")
Kind = Any  # an annotation: a class, or a form that `typing` makes
Read = Callable[[Any], Any]  # Any: the kind says which types these are


class Bounds(Frozen):
    """What a value must be besides its type; the names are pydantic's."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


class Key(Frozen):
    """The key in the file, if it is not the attribute's name in camel case."""

    name: str


class ConfigSection(Frozen):
    """A part of the file: camelCase keys, nothing unknown."""

    keys: ClassVar[dict[str, tuple[str, Kind]]]
    """The attribute and the annotation of each key."""
    _readers: ClassVar[dict[str, Read]]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.keys = {_key(one.name, one.type): (one.name, one.type) for one in fields(cls)}
        cls._readers = {}

    @classmethod
    def read(cls: type[S], entry: object) -> S:
        """Read a section, or raise `UnusualForm`."""
        if type(entry) is not dict or not entry.keys() <= cls.keys.keys():
            raise UnusualForm
        values = {cls.keys[key][0]: cls._reader(key)(value) for key, value in entry.items()}
        if not cls._required <= values.keys():
            raise UnusualForm
        return cls(**values)

    @classmethod
    def _reader(cls, key: str) -> Read:
        if key not in cls._readers:
            cls._readers[key] = _made(cls.keys[key][1], Bounds())
        return cls._readers[key]

    def document(self) -> Json:
        """Return the section as JSON, with every default."""
        return {key: _plain(getattr(self, name)) for key, (name, _) in self.keys.items()}


def _key(name: str, kind: Kind) -> str:
    own = next((one.name for one in noted(kind) if isinstance(one, Key)), "")
    first, *rest = name.split("_")
    return own or first + "".join(map(str.capitalize, rest))


def noted(kind: Kind) -> tuple[object, ...]:
    """Return what an annotation says besides the type: bounds, a key, a description."""
    form: Kind = get_origin(kind)
    return get_args(kind)[1:] if form is Annotated else ()


def _plain(value: object) -> object:
    match value:
        case ConfigSection():
            return value.document()
        case tuple():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case _:
            return value


def _made(kind: Kind, bounds: Bounds) -> Read:
    """Return the reader of a kind; it accepts nothing that the schema does not accept."""
    form: Kind = get_origin(kind)
    inner = get_args(kind)
    if form is Annotated:
        return _made(inner[0], next((one for one in inner[1:] if isinstance(one, Bounds)), bounds))
    if form in (Union, UnionType):
        return _any_of([_made(one, bounds) for one in inner if one is not NoneType], or_none=NoneType in inner)
    if form is Literal:
        return _where(str, lambda value: value in inner)
    if form is tuple:
        one, listed = _made(inner[0], Bounds()), _where(list, lambda value: _fits(len(value), bounds))
        return lambda value: tuple(one(item) for item in listed(value))
    if form is dict:
        name, one = (_made(part, Bounds()) for part in inner)
        table = _where(dict, lambda value: True)
        return lambda value: {name(key): one(item) for key, item in table(value).items()}
    return _scalar(kind, bounds)


def _any_of(readers: list[Read], *, or_none: bool) -> Read:
    def read(value: object) -> object:
        if value is None and or_none:
            return None
        for reader in readers:
            with suppress(UnusualForm):
                return reader(value)
        raise UnusualForm

    return read


def _scalar(kind: Kind, bounds: Bounds) -> Read:
    if kind is str:
        return _text(bounds)
    if kind is bool:
        return _where(bool, lambda value: True)
    if kind is int:
        return _where(int, lambda value: _is_within(value, bounds))
    if kind is float:
        number = _where((int, float), lambda value: _is_within(value, bounds))
        return lambda value: float(number(value))
    read: Read = kind.read
    return read


def _text(bounds: Bounds) -> Read:
    matches = re.compile(bounds.pattern or "").search
    return _where(str, lambda value: _fits(len(value), bounds) and matches(value) and not value.endswith("\n"))


def _where(wanted: type | tuple[type, ...], is_right: Callable[[Any], object]) -> Read:
    types = wanted if isinstance(wanted, tuple) else (wanted,)

    def read(value: object) -> object:
        if type(value) not in types or not is_right(value):
            raise UnusualForm
        return value

    return read


def _fits(length: int, bounds: Bounds) -> bool:
    return (bounds.min_length or 0) <= length and (bounds.max_length is None or length <= bounds.max_length)


def _is_within(value: float, bounds: Bounds) -> bool:
    return (
        -EXACT <= value <= EXACT
        and (bounds.ge is None or value >= bounds.ge)
        and (bounds.gt is None or value > bounds.gt)
        and (bounds.le is None or value <= bounds.le)
    )
