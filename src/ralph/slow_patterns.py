"""Regular expressions of a configuration, which search in hostile text: those that could take for ever are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from re import _constants as kind  # type: ignore[attr-defined]  # the parser that `re` itself uses
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from ralph import limits

Chars = frozenset[int]
LETTERS, DIGITS, SPACES, OTHERS = range(256, 260)  # stand for all characters from 256 on
BEYOND: Chars = frozenset((LETTERS, DIGITS, SPACES, OTHERS))
ALL: Chars = BEYOND | frozenset(range(256))
CATEGORIES = {"DIGIT": (r"\d", DIGITS), "SPACE": (r"\s", SPACES), "WORD": (r"\w", LETTERS)}
REPEATS = (kind.MAX_REPEAT, kind.MIN_REPEAT)
MANY = 16
"""Choices of one repetition from which on several share the text among them."""
IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")


def why_slow(pattern: str) -> str:
    """Return why a search could take for ever; "" if it cannot."""
    tree = list(parser.parse(pattern))
    starts = 1.0 if tree and tree[0][0] is kind.AT else limits.SEARCHED / max(1, _word(tree))
    steps = starts * _ways(tree, tells=not IGNORES_CASE.search(pattern), is_last=True)
    return "" if steps <= limits.STEPS else "hostile text could make it search for ever: it can match in too many ways"


def _ways(tree: Iterable[Any], *, tells: bool, is_last: bool = False) -> float:
    """Return in how many ways a part can match the beginnings of one text, roughly: backtracking tries all of them.

    `tells`: the next character can tell where a repetition ends, and it is not looked for again and again. `is_last`:
    nothing comes after it that could fail.
    """
    items, ways, choices = list(tree), 1.0, 0
    for index, (op, argument) in enumerate(items):
        after = items[index + 1 :]
        if op in REPEATS:
            found = _of_repeat(argument, after, tells=tells and not choices, is_last=is_last)
            choices += found > MANY
        elif op is kind.BRANCH:
            each = [_ways(branch, tells=tells) for branch in argument[1]]
            found = max(each) if _are_distinct(argument[1]) else sum(each)
        else:
            found = math.prod(_ways(inner, tells=tells) for inner in _inside(argument))
        ways *= found
    return ways / math.factorial(choices)


def _of_repeat(argument: Any, after: Sequence[Any], *, tells: bool, is_last: bool) -> float:
    least, most, repeated = int(argument[0]), min(int(argument[1]), limits.SEARCHED), argument[2]
    inner = _ways(repeated, tells=tells)
    if inner > 1:
        return inner**most if most * math.log10(inner) < math.log10(limits.STEPS) else math.inf
    if (is_last and not after) or (tells and not (_first(after) & _only(repeated))):
        return 1
    return max(1, (most - least + 1) / max(1, _word(after)))


def _word(items: Sequence[Any]) -> int:
    """Return how many letters a part begins with: in a text, they can be only at so many places."""
    return next((index for index, (op, _) in enumerate(items) if op is not kind.LITERAL), len(items))


def _only(tree: Sequence[Any]) -> Chars:
    """Return the characters of which a part matches exactly one; all characters if it matches anything else."""
    return _chars(*tree[0]) if len(tree) == 1 else ALL


def _first(items: Sequence[Any]) -> Chars:
    """Return the characters with which a part must begin; all characters if nobody knows."""
    if not items:
        return ALL
    op, argument = items[0]
    if op in REPEATS:
        return _only(argument[2]) | (_first(items[1:]) if not argument[0] else frozenset())
    return _chars(op, argument)


def _chars(op: Any, argument: Any) -> Chars:
    if op is kind.LITERAL:
        return frozenset((argument,)) if argument < LETTERS else BEYOND
    if op is kind.NOT_LITERAL:
        return ALL - {argument}
    if op is kind.RANGE:
        low, high = argument
        return frozenset(range(low, min(high + 1, LETTERS))) | (BEYOND if high >= LETTERS else frozenset())
    if op is kind.CATEGORY:
        return _category(str(argument).removeprefix("CATEGORY_"))
    if op is kind.IN and argument[0][0] is kind.NEGATE:
        exact = (_chars(*one) for one in argument[1:] if one[0] is kind.CATEGORY or _chars(*one).isdisjoint(BEYOND))
        return ALL.difference(*exact)
    if op is kind.IN:
        return frozenset().union(*(_chars(*one) for one in argument))
    return ALL


def _category(name: str) -> Chars:
    pattern, beyond = CATEGORIES[name.removeprefix("NOT_")]
    words = (DIGITS,) if beyond == LETTERS else ()
    found = frozenset(code for code in range(256) if re.match(pattern, chr(code))) | {beyond, *words}
    return ALL - found if name.startswith("NOT_") else found


def _inside(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, (tuple, list)):
        for one in argument:
            yield from _inside(one)


def _are_distinct(branches: Iterable[Any]) -> bool:
    """Return whether alternatives begin with different letters, so that only one can match."""
    firsts = [branch[0] if len(branch) else None for branch in branches]
    return all(first and first[0] is kind.LITERAL for first in firsts) and len(set(firsts)) == len(firsts)
