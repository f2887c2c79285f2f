"""What the tables of `formats` are made of: kinds of values, fields, parts and states. Data, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from ralph.plan.model import TaskState

T = TypeVar("T")
Value = Any  # what a field holds: its kind says which type that is, and the codec checks it
NO_LIMIT = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Text:
    """Text, of a form and a length where they matter."""

    pattern: str = ""
    shortest: int = 0
    longest: int = NO_LIMIT


TEXT = Text()


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number; one that is not whole is written to the third digit, if it is `rounded`."""

    whole: bool = True
    least: int | None = None
    rounded: bool = False


@dataclass(frozen=True)
class Flag:
    """True or false."""


@dataclass(frozen=True)
class Choice:
    """One of some words or numbers; `into`: the enumeration whose values they are."""

    values: tuple[str | int, ...]
    into: type[Enum] | None = None


@dataclass(frozen=True)
class Maybe:
    """What another kind holds, or null, which is read as `none`."""

    of: Kind
    none: str | None = None


@dataclass(frozen=True, kw_only=True)
class ListOf:
    """Any number of the same kind; `by_rule`: the schema names the least, and a rule explains it."""

    of: Kind
    shortest: int = 0
    longest: int = NO_LIMIT
    by_rule: bool = False
    into: Callable[[Iterable[Value]], Value] = tuple


@dataclass(frozen=True, kw_only=True)
class TableOf:
    """The same kind under any names."""

    of: Kind


class Part(Generic[T]):
    """An object: its name and meaning in the published schema, the value that is made of it, and its fields."""

    def __init__(self, name: str, about: str, into: Callable[..., T], *fields: Field) -> None:
        self.name, self.about, self.into, self.fields = name, about, into, fields


Kind = Text | Number | Flag | Choice | Maybe | ListOf | TableOf | Part[Value]
ONLY_CHECKED, ITS_FIELDS = "-", "*"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a part."""

    name: str  # in snake case, whatever the format's own way
    kind: Kind
    attr: str  # of the value that is made; or that there is none, or that its own fields are the value's
    about: str
    own: bool  # Ralph writes it
    when_set: bool = False  # where it was not there, only once it says anything
    required: bool = False
    default: Value = None  # None: the kind's own

    @property
    def absent(self) -> Value:
        """What a file means that does not have it."""
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
            case Maybe():
                return None
            case _:
                return {}


def given(name: str, kind: Kind = TEXT, attr: str = "", about: str = "", **more: Value) -> Field:
    """A field that people and agents write."""
    return Field(name=name, kind=kind, attr=attr or name, about=about, own=False, **more)


def own(name: str, kind: Kind = TEXT, attr: str = "", about: str = "", **more: Value) -> Field:
    """A field that Ralph writes."""
    return Field(name=name, kind=kind, attr=attr or name, about=about, own=True, **more)


@dataclass(frozen=True, kw_only=True)
class States:
    """How a format says where a task stands: the fields that do, and what they hold in each state."""

    fields: tuple[str, ...] = ("status",)
    pending: tuple[Value, ...]
    begun: tuple[Value, ...] = ()  # empty: as what is pending
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
