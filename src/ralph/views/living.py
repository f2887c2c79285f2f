"""The living line: what is under way now, on a terminal; elsewhere a heartbeat once a minute."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field

import click

from ralph.views import words

HEARTBEAT = 60.0


@dataclass
class Doing:
    """One thing that is under way."""

    what: str
    since: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    said: str = ""


class LivingLine:
    """Knows what each piece of work is at, and shows it without pushing away what was printed."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stdout.isatty() and not quiet
        self._doing: dict[str, Doing] = {}
        self._shown = False
        self._beat = time.monotonic()
        self.at = ""  # how far the whole run is

    def begin(self, work: str, what: str) -> None:
        self._doing[work] = Doing(what)
        self._beat = time.monotonic()
        self._draw()

    def hear(self, work: str, said: str) -> None:
        doing = self._doing.get(work)
        if doing:
            doing.heard, doing.said = time.monotonic(), said
            self._draw()

    def end(self, work: str) -> None:
        self._doing.pop(work, None)

    def end_all(self) -> None:
        self._doing.clear()

    def tick(self) -> None:
        if self._live:
            self._draw()
        elif self._doing and not self._quiet and time.monotonic() - self._beat >= HEARTBEAT:
            self._beat = time.monotonic()
            for work, doing in self._doing.items():
                click.echo(f"     … {self._name(work)}{doing.what}, {self._so_far(doing)}")

    def clear(self) -> None:
        """Make room for a line that stays."""
        if self._shown:
            sys.stdout.write("\r\x1b[2K")
            self._shown = False

    def _draw(self) -> None:
        if not self._live or not self._doing:
            return
        self.clear()
        line = words.cut(f"{self.at}  … {self._now()}", shutil.get_terminal_size().columns - 4)
        sys.stdout.write(click.style(line, dim=True))
        sys.stdout.flush()
        self._shown = True

    def _now(self) -> str:
        if len(self._doing) > 1:
            return " · ".join(f"{work} {doing.what} {_elapsed(doing)}" for work, doing in self._doing.items())
        (doing,) = self._doing.values()
        said = f" · {doing.said}" if doing.said else ""
        return f"{doing.what}, {_elapsed(doing)}{said}"

    def _name(self, work: str) -> str:
        return f"{work}: " if len(self._doing) > 1 else ""

    def _so_far(self, doing: Doing) -> str:
        now = time.monotonic()
        silent = now - doing.heard
        quiet = f", silent for {words.duration(silent)}" if silent >= HEARTBEAT / 2 else ""
        return f"{words.duration(now - doing.since)} so far{quiet}"


def _elapsed(doing: Doing) -> str:
    return words.duration(int(time.monotonic() - doing.since))
