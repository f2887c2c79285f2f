"""The base of events: frozen values whose classes are cheap to define.

Ralph defines some thirty events at every start. An ordinary frozen dataclass compiles six methods for each; these share
theirs, and `dataclasses.fields` and `replace` work as usual.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, TypeVar, dataclass_transform

T = TypeVar("T")
_fields: dict[type, tuple[Field[Any], ...]] = {}
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def event(cls: type[T]) -> type[T]:
    """Make a class a frozen, keyword-only dataclass with the methods of `Event`."""
    made = dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
    _fields[made] = fields(made)  # type: ignore[arg-type]  # it is a dataclass by now
    return made


@event
class Event:
    """Something that happened; `kept` events go into the journal, the others only to views."""

    kept: ClassVar[bool] = True
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # Any: as the standard library types it

    def __init__(self, **given: object) -> None:
        values = {one.name: given.pop(one.name) if one.name in given else _default(one) for one in _fields[type(self)]}
        missing = [name for name, value in values.items() if value is MISSING]
        if missing or given:
            wrong = f"lacks {', '.join(missing)}" if missing else f"has no field {', '.join(given)}"
            raise TypeError(f"{type(self).__name__} {wrong}")
        self.__dict__.update(values)

    @classmethod
    def name(cls) -> str:
        return _name(cls.__name__)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


@event
class AttemptEvent(Event):
    """Something that happened in an attempt at some work."""

    work: str
    attempt: int


@event
class Unknown(Event):
    """An event that this Ralph does not know or cannot read; an older or a newer one wrote it."""

    called: str
    values: Mapping[str, object]


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


@cache
def _name(of_class: str) -> str:
    return _WORD.sub("_", of_class).lower()
