"""The live line: on a terminal it shows the current work; elsewhere a heartbeat prints once a minute."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from ralph.views import words
from ralph.views.lines import Clock, columns, say, stamped

HEARTBEAT = 60.0
NARROWEST = 15
"""How many columns each of several activities gets at least."""


@dataclass
class Activity:
    """Something that a piece of work does now."""

    work: str
    what: str
    since: float
    heard: float
    said: str = ""
    until: float | None = None  # when a wait ends
    brief: str = ""  # in fewer words, beside others


class LivingLine:
    """Tracks the current activity of each piece of work, and shows it below the printed lines."""

    def __init__(self, *, quiet: bool, clock: Clock) -> None:
        self._quiet = quiet
        self._clock = clock
        self._is_terminal = sys.stdout.isatty()
        self._live = self._is_terminal and not quiet and not clock.is_past and os.environ.get("TERM") != "dumb"
        self._doing: dict[tuple[str, str], Activity] = {}
        self._shown = False
        self._beat = clock.seconds()
        self.at = ""  # the progress of the whole run

    def begin(self, work: str, what: str, *, part: str = "", brief: str = "", ends_in: float | None = None) -> None:
        """Show what a piece of work does; with `ends_in`, how much longer it takes instead of how long it took.

        `part` tells apart what it does at the same time.
        """
        now = self._clock.seconds()
        if not self._doing:
            self._beat = now
        until = None if ends_in is None else now + ends_in
        self._doing[work, part] = Activity(work, what, since=now, heard=now, until=until, brief=brief)
        self._draw()

    def hear(self, work: str, said: str) -> None:
        doing = self._doing.get((work, ""))
        if doing:
            doing.heard, doing.said = self._clock.seconds(), said
            self._draw()

    def end(self, work: str, part: str | None = None) -> None:
        """Stop showing one part of a piece of work, or all of it."""
        for key in [key for key in self._doing if key == (work, key[1] if part is None else part)]:
            del self._doing[key]

    def end_all(self) -> None:
        self._doing.clear()

    def tick(self) -> None:
        if self._live:
            self._draw()
        elif self._doing and not self._quiet and self._clock.seconds() - self._beat >= HEARTBEAT:
            self._beat = self._clock.seconds()
            for doing in self._doing.values():
                text = f"    … {self._name(doing.work)}{doing.what}, {self._so_far(doing)}"
                say(text if self._is_terminal else stamped(text, self._clock.of_day()))

    def clear(self) -> None:
        """Clear the live line, so that a permanent line can be printed."""
        if self._shown:
            sys.stdout.write("\r\x1b[2K")
            self._shown = False

    def _draw(self) -> None:
        if not self._live or not self._doing:
            return
        self.clear()
        line = words.cut(f"{self.at}  … {self._now()}", columns() - 4)
        say(line, dim=True, ends=False)
        self._shown = True

    def _now(self) -> str:
        if len(self._doing) > 1:
            room = max(columns() // len(self._doing) - 10, NARROWEST)  # a time and a separator follow
            shown = (f"{self._who(doing.work)}{doing.brief or doing.what}" for doing in self._doing.values())
            times = map(self._elapsed, self._doing.values())
            return " · ".join(f"{words.cut(text, room)} {time}" for text, time in zip(shown, times, strict=True))
        (doing,) = self._doing.values()
        said = f" · {doing.said}" if doing.said else ""
        return f"{doing.what}, {self._elapsed(doing)}{said}"

    def _name(self, work: str) -> str:
        return f"{work}: " if self._who(work) else ""

    def _who(self, work: str) -> str:
        """Return whose activity it is, if several pieces of work are at work."""
        return f"{work} " if len({doing.work for doing in self._doing.values()}) > 1 else ""

    def _so_far(self, doing: Activity) -> str:
        if doing.until is not None:
            return self._elapsed(doing)
        silent = self._clock.seconds() - doing.heard
        quiet = f", silent for {words.elapsed(silent)}" if silent >= HEARTBEAT / 2 else ""
        return f"{self._elapsed(doing)} so far{quiet}"

    def _elapsed(self, doing: Activity) -> str:
        if doing.until is not None:
            return f"{words.elapsed(max(doing.until - self._clock.seconds(), 0))} left"
        return words.elapsed(self._clock.seconds() - doing.since)
