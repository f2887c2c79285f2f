"""Regular expressions of a configuration, which search in hostile text: those that could take for ever are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import _constants as kind  # type: ignore[attr-defined]  # the parser that `re` itself uses
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from ralph import limits

MANY = 16
"""A repetition up to here is not unbounded."""


def why_slow(pattern: str) -> str:
    """Return why a search could take for ever; "" if it cannot.

    A repetition of what can itself match in several ways backtracks through all of them, and so do many unbounded
    repetitions in a row.
    """
    tree = parser.parse(pattern)
    repeats = [item for item in _items(tree) if _is_unbounded(*item)]
    if any(_varies(repeated[1][2]) for repeated in repeats):
        return "it repeats a group that has a repetition or alternatives inside"
    if len(repeats) > limits.REPEATS:
        return f"it has {len(repeats)} unbounded repetitions, and {limits.REPEATS} are allowed"
    return ""


def _items(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every part of a parsed pattern, at any depth."""
    for op, argument in tree:
        yield op, argument
        for inner in _inside(argument):
            yield from _items(inner)


def _inside(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for one in argument:
            yield from _inside(one)


def _is_unbounded(op: Any, argument: Any) -> bool:
    return op in (kind.MAX_REPEAT, kind.MIN_REPEAT) and argument[1] > MANY


def _varies(tree: Any) -> bool:
    """Return whether a part can match the same text in several ways."""
    return any(
        (op in (kind.MAX_REPEAT, kind.MIN_REPEAT) and argument[0] != argument[1])
        or op is kind.GROUPREF
        or (op is kind.BRANCH and not _are_distinct(argument[1]))
        for op, argument in _items(tree)
    )


def _are_distinct(branches: Iterable[Any]) -> bool:
    """Return whether alternatives begin with different letters, so that only one can match."""
    firsts = [branch[0] if len(branch) else None for branch in branches]
    return all(first and first[0] is kind.LITERAL for first in firsts) and len(set(firsts)) == len(firsts)
