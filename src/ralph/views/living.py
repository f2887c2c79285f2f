"""What works now: on a terminal a line for each slot and one for the run; elsewhere a heartbeat once a minute."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.text import one_line, strip_ansi
from ralph.views import area, cells, words
from ralph.views.area import Area
from ralph.views.lines import Clock, composed, is_coloured, say, stamped
from ralph.views.run_line import RunLine

HEARTBEAT = 60.0
DRAWINGS = 0.2
"""The minimum seconds between two drawings that only show what an agent says."""
NARROWEST = 15
"""How many columns each of several activities of one slot gets at least."""
WIDE = 100
"""From this many columns on, a line also has the task's title."""


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


@dataclass
class Slot:
    """A piece of work that is under way, also between its activities."""

    since: float
    title: str = ""
    step: str = ""


class LivingLines:
    """Tracks the current activities of each piece of work, and shows them below the printed lines."""

    def __init__(self, *, quiet: bool, clock: Clock, logs: Path | None = None) -> None:
        self._quiet = quiet
        self._clock = clock
        self._logs = logs  # of earlier runs, whose pace tells how long this one takes
        self._is_terminal = sys.stdout.isatty()
        self._live = self._is_terminal and not quiet and not clock.is_past and os.environ.get("TERM") != "dumb"
        self._doing: dict[tuple[str, str], Activity] = {}
        self._slots: dict[str, Slot] = {}
        self._beat = clock.seconds()
        self._drawn = 0.0
        self._area = Area(self._rows)
        self.run = RunLine()

    def take(self, event: Event, name: str) -> None:
        """Take an event for the run's line, and for when a piece of work is under way."""
        now = self._clock.seconds()
        self.run.take(event, now)
        match event:
            case e.AttemptStarted():
                self.end("")  # nothing waits any more
                self._slots[name] = Slot(since=now, title=event.title)
            case e.StepStarted() if name in self._slots:
                self._slots[name].step, self._slots[name].since = event.step, now
            case e.AttemptEnded():
                self._slots.pop(name, None)
            case e.RunEnded():
                self._slots.clear()

    def begin(self, work: str, what: str, *, part: str = "", brief: str = "", ends_in: float | None = None) -> None:
        """Show what a piece of work does; with `ends_in`, how much longer it takes instead of how long it took.

        `part` tells apart what it does at the same time.
        """
        now = self._clock.seconds()
        if not self._doing:
            self._beat = now
        until = None if ends_in is None else now + ends_in
        self._doing[work, part] = Activity(work, what, since=now, heard=now, until=until, brief=brief)

    def hear(self, work: str, said: str) -> None:
        doing = self._doing.get((work, ""))
        if doing:
            doing.heard, doing.said = self._clock.seconds(), said

    def end(self, work: str, part: str | None = None) -> None:
        """Stop showing one part of a piece of work, or all of it."""
        for key in [key for key in self._doing if key == (work, key[1] if part is None else part)]:
            del self._doing[key]

    def end_all(self) -> None:
        self._doing.clear()
        self._slots.clear()

    def print(self, text: str, **style: Any) -> None:
        """Print lines above what is shown, in the same writing."""
        self._area.draw(self._composed(text, **style))

    @property
    def shows(self) -> bool:
        """Whether it draws anything now."""
        return self._live and bool(self._doing or self._slots)

    def draw(self, *, is_urgent: bool = True) -> None:
        now = self._clock.seconds()
        if self._live and (is_urgent or now - self._drawn >= DRAWINGS):
            self._drawn = now
            self._area.draw()

    def tick(self) -> None:
        if self._live:
            if self._logs and self.run.is_working:
                self.run.pace.learn(self._logs, but=self.run.run)
                self._logs = None
            self._area.draw()
        elif self._doing and not self._quiet and self._clock.seconds() - self._beat >= HEARTBEAT:
            self._beat = self._clock.seconds()
            for doing in self._doing.values():
                text = f"    … {self._name(doing.work)}{doing.what}, {self._so_far(doing)}"
                say(text if self._is_terminal else stamped(text, self._clock.of_day()))

    def clear(self) -> None:
        """Leave nothing on the screen but what was printed."""
        self._area.clear()

    def _rows(self, columns: int) -> list[str]:
        if not self.shows:
            return []
        names = list(dict.fromkeys((*self._slots, *(work for work, _ in self._doing))))
        most = max(area.size()[1] - 3, 1)
        more = [f"  … {len(names) - most + 1} more"] if len(names) > most else []
        names = names[: most - len(more)] if more else names
        width = min(max((cells.breadth(name) for name in names), default=0), columns // 3)
        rows = [f"  {self._row(name, width, columns)}" for name in names]
        rows = [*rows, *more, f" {self.run.text(self._clock.seconds())}"]
        return [self._composed(cells.fitted(cells.readable(row), columns), dim=True) for row in rows]

    @staticmethod
    def _composed(text: str, **style: Any) -> str:
        text = composed(text, stream=sys.stdout, **style)
        return text if is_coloured() else strip_ansi(text)

    def _row(self, name: str, width: int, columns: int) -> str:
        slot = self._slots.get(name)
        shown = f"{cells.filled(one_line(name), width)}  " if width and name else ""
        if slot and slot.title and columns >= WIDE and self.run.tasks:
            shown += f"{cells.filled(one_line(slot.title), columns // 4)}  "
        doing = [doing for (work, _), doing in self._doing.items() if work == name]
        if not doing and slot:
            doing = [Activity(name, slot.step or "begins", since=slot.since, heard=slot.since)]
        said = next((f" · {one_line(one.said)}" for one in doing if one.said), "")
        room = max((columns - cells.breadth(shown)) // len(doing) - 10, NARROWEST)  # a time and a separator follow
        texts = ((one.brief or one.what) if len(doing) > 1 else one.what for one in doing)
        fit = [one_line(text) if len(doing) == 1 else cells.fitted(one_line(text), room) for text in texts]
        times = map(self._elapsed, doing)
        return shown + " · ".join(f"{text}, {time}" for text, time in zip(fit, times, strict=True)) + said

    def _name(self, work: str) -> str:
        """Return whose activity it is, if several pieces of work are at work."""
        return f"{work}: " if len({doing.work for doing in self._doing.values()}) > 1 else ""

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
