"""The base of frozen values: keyword-only dataclasses whose classes are cheap to define.

`@dataclass(frozen=True)` compiles six methods for each class, and Ralph defines some two hundred classes at a start.
Subclasses of `Frozen` share their methods instead. `dataclasses.field`, `fields` and `replace` work as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Frozen:
    """A value that does not change: `class Point(Frozen): x: int; y: int = 0`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # Any: as the standard library types it
    _start: ClassVar[dict[str, object]]  # every field in order, with its default
    _made: ClassVar[dict[str, Callable[[], object]]]  # the fields whose default is made for each value
    _required: ClassVar[frozenset[str]]
    _compared: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = cls.__doc__ or cls.__name__  # or the decorator takes its time to compose one
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
        found = fields(cls)
        cls._start = {one.name: one.default for one in found}
        cls._made = {one.name: one.default_factory for one in found if one.default_factory is not MISSING}
        cls._required = frozenset(
            one.name for one in found if one.default is MISSING and one.default_factory is MISSING
        )
        cls._compared = tuple(one.name for one in found if one.compare)

    def __init__(self, **given: object) -> None:
        values = self.__dict__
        values.update(self._start)
        values.update(given)
        if not self._required <= given.keys() or len(values) != len(self._start):
            missing = [name for name in self._start if name in self._required and name not in given]
            unknown = [name for name in given if name not in self._start]
            wrong = f"lacks {', '.join(missing)}" if missing else f"has no field {', '.join(unknown)}"
            raise TypeError(f"{type(self).__name__} {wrong}")
        for name, make in self._made.items():
            if name not in given:
                values[name] = make()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values()))

    def _values(self) -> list[object]:
        values = self.__dict__
        return [values[name] for name in self._compared]

    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"
