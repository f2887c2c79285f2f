"""The building blocks of the tables in `formats`: kinds of values, fields, parts and states. Data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from ralph.frozen import Frozen
from ralph.plan.model import TaskState

T = TypeVar("T")
Value = Any  # its kind says which type it has, and the codec checks it
NO_LIMIT = 1 << 62


class Text(Frozen):
    """Text, optionally with a pattern and a length."""

    pattern: str = ""
    min_length: int = 0
    max_length: int = NO_LIMIT


TEXT = Text()


class Number(Frozen):
    """A number; if `rounded`, a fraction is written with three digits."""

    whole: bool = True
    least: int | None = None
    rounded: bool = False


@dataclass(frozen=True)
class Flag:
    """True or false."""


@dataclass(frozen=True)
class Choice:
    """One of some words or numbers; `into` is the enumeration of these values."""

    values: tuple[str | int, ...]
    into: type[Enum] | None = None


@dataclass(frozen=True)
class Nullable:
    """A value of another kind, or null, which is read as `none`."""

    of: Kind
    none: str | None = None


class ListOf(Frozen):
    """A list of one kind; `by_rule`: the schema states the minimum, and a rule reports it."""

    of: Kind
    min_length: int = 0
    max_length: int = NO_LIMIT
    by_rule: bool = False
    into: Callable[[Iterable[Value]], Value] = tuple


class TableOf(Frozen):
    """Values of one kind under any names."""

    of: Kind


class Part(Generic[T]):
    """An object: its name and description in the published schema, the value it becomes, and its fields."""

    def __init__(self, name: str, about: str, into: Callable[..., T], *fields: Field) -> None:
        self.name, self.about, self.into, self.fields = name, about, into, fields


Kind = Text | Number | Flag | Choice | Nullable | ListOf | TableOf | Part[Value]
ONLY_CHECKED, ITS_FIELDS = "-", "*"


class Field(Frozen):
    """One field of a part."""

    name: str  # in snake case, whatever the format's own style
    kind: Kind
    attr: str  # the attribute of the value; or ONLY_CHECKED or ITS_FIELDS
    about: str
    own: bool  # Ralph writes it
    when_set: bool = False  # if it is missing in the file, write it only once it has a value
    required: bool = False
    default: Value = None  # None: the kind's own default

    @property
    def absent(self) -> Value:
        """The value of a file that lacks this field."""
        match self.kind:
            case _ if self.default is not None:
                return self.default
            case Text():
                return ""
            case Number(whole=whole):
                return 0 if whole else 0.0
            case Flag():
                return False
            case ListOf():
                return []
            case Nullable():
                return None
            case _:
                return {}


def given(name: str, kind: Kind = TEXT, attr: str = "", about: str = "", **more: Value) -> Field:
    """A field that people and agents write."""
    return Field(name=name, kind=kind, attr=attr or name, about=about, own=False, **more)


def own(name: str, kind: Kind = TEXT, attr: str = "", about: str = "", **more: Value) -> Field:
    """A field that Ralph writes."""
    return Field(name=name, kind=kind, attr=attr or name, about=about, own=True, **more)


class States(Frozen):
    """How a format stores a task's state: the fields for it, and their values in each state."""

    fields: tuple[str, ...] = ("status",)
    pending: tuple[Value, ...]
    begun: tuple[Value, ...] = ()  # empty: same as pending
    passed: tuple[Value, ...]
    blocked: tuple[Value, ...]

    def read(self, held: tuple[Value, ...]) -> TaskState:
        if held == self.passed:
            return TaskState.PASSED
        return TaskState.BLOCKED if held == self.blocked else TaskState.PENDING

    def write(self, state: TaskState, *, begun: bool) -> tuple[Value, ...]:
        match state:
            case TaskState.PASSED:
                return self.passed
            case TaskState.BLOCKED:
                return self.blocked
            case _:
                return self.begun if begun and self.begun else self.pending
