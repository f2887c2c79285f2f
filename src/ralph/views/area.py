"""The area below the printed lines of a terminal, drawn anew as things change.

Each drawing is one write that overwrites what is there, so nothing flickers, and what is printed meanwhile goes above.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from ralph.views import cells

NARROWEST = 30
UNFLOWED = ("xterm", "linux", "ansi", "cygwin")
UNFLOWED_FAMILIES = ("screen", "vt", "rxvt")
"""Terminals that cut off lines when they become narrower; the others break them, so that they take more rows."""
Render = Callable[[int], list[str]]
"""Returns the lines for a number of columns, each within it."""


def size() -> tuple[int, int]:
    """Return the columns and rows of the terminal; the variable `COLUMNS` does not change with it."""
    found = os.terminal_size((0, 0))
    with suppress(OSError, ValueError):
        found = os.get_terminal_size(sys.stdout.fileno())
    if not found.columns:
        found = shutil.get_terminal_size()
    return max(found.columns, NARROWEST), max(found.lines, 2)


class Area:
    """Draws lines below everything else that is printed on standard output."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._shown: list[int] = []  # how broad each line on the screen is
        self._columns = 0
        self._is_busy = False
        self._follows = False
        self._reflows = _reflows(os.environ)

    def draw(self, above: str | None = None) -> None:
        """Draw the lines as they are now; `above`: what to print for good."""
        self._follow_the_size()
        self._is_busy = True
        try:
            columns, height = size()
            rows = self._render(columns - 1)[-(height - 1) :]
            if above is not None or rows or self._shown:
                self._write(above, rows, columns)
        finally:
            self._is_busy = False

    def clear(self) -> None:
        """Leave nothing on the screen."""
        if self._shown:
            self._write(None, [], size()[0])

    def _write(self, above: str | None, rows: list[str], columns: int) -> None:
        printed = f"\x1b[J{above}\n" if above is not None else ""
        # a character that is measured wrongly must not wrap either
        below = f"\x1b[?7l{LINE.join(f'{row}{TO_END}' for row in rows)}\x1b[J\r\x1b[?7h" if rows else "\x1b[J"
        start = self._start(columns)
        self._shown, self._columns = [cells.breadth(row) for row in rows], columns
        _showing[:] = [self] if rows else []
        sys.stdout.write(f"{start}{printed}{below}")
        sys.stdout.flush()

    def _start(self, columns: int) -> str:
        """Return what moves the cursor to the first line of the area; it rests at the beginning of the last."""
        rows = self._shown[:-1]
        has_broken = self._reflows and columns < self._columns
        up = sum(-(-max(row, 1) // columns) for row in rows) if has_broken else len(rows)
        return f"\r\x1b[{up}A" if up else "\r"

    def _follow_the_size(self) -> None:
        if not self._follows:
            self._follows = True
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGWINCH, lambda *_: self._resized())

    def _resized(self) -> None:
        if self._shown and not self._is_busy:
            with suppress(RuntimeError):  # something else is being printed at this moment
                self.draw()


def _reflows(environment: Mapping[str, str]) -> bool:
    if "TMUX" in environment:
        return True
    name = environment.get("TERM", "")
    return "XTERM_VERSION" not in environment and name not in UNFLOWED and not name.startswith(UNFLOWED_FAMILIES)


def clear() -> None:
    """Clear the area that is shown, if there is one: something else is about to be printed."""
    for shown in tuple(_showing):
        shown.clear()


LINE, TO_END = "\n", "\x1b[K"
_showing: list[Area] = []
