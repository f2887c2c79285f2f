"""Lines and lists, as a concern shows them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ralph.text import one_line

SHOWN = 3


def line_behind(old: str, new: str, line: int) -> int:
    """Return the line of the new file that is now behind what was above `line` in the old one."""
    lines = new.splitlines()
    there = {text: number for number, text in reversed(list(enumerate(lines, 1))) if text.strip()}
    above = next((text for text in reversed(old.splitlines()[: max(0, line - 1)][-200:]) if text in there), None)
    if above is None:
        return 1
    number = there[above] + 1
    while number < len(lines) and not lines[number - 1].strip():
        number += 1
    return min(number, len(lines))


class LineNumbers:
    """The line of each offset in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(self, offset: int) -> int:
        return bisect_right(self._starts, offset)


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(f"`{shown(name)}`" for name in names[:SHOWN]) + more


def shown(text: str, width: int = 90) -> str:
    """One short line of somebody else's text."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"
