"""The base of events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from ralph.frozen import Frozen

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Event(Frozen):
    """Something that happened; `kept` events go into the journal, the others only to views."""

    kept: ClassVar[bool] = True

    @classmethod
    def name(cls) -> str:
        return _name(cls.__name__)


class AttemptEvent(Event):
    """Something that happened in an attempt at some work."""

    work: str
    attempt: int


class Unknown(Event):
    """An event that this Ralph does not know or cannot read; an older or a newer one wrote it."""

    called: str
    values: Mapping[str, object]


@cache
def _name(of_class: str) -> str:
    return _WORD.sub("_", of_class).lower()
