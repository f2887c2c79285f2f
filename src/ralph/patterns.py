"""Regular expressions that are compiled at their first use: Ralph defines many, and a command needs few of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import AnyStr, cast


class _LazyPattern:
    """Stands for a compiled pattern; each attribute is looked up once."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> object:
        found: object = getattr(self._make(), name)
        vars(self)[name] = found
        return found


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that behaves like `re.compile(pattern, flags)` and is compiled when it is first used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(lambda: re.compile(pattern, flags)))
