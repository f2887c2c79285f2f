"""A run as a person watches it: plain lines for past events, and on a terminal a line for each slot below them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.views import judgements, sandbox
from ralph.views.attempt_lines import AttemptLines
from ralph.views.gate_lines import GateLines
from ralph.views.lines import Clock, say, stamped
from ralph.views.living import LivingLines
from ralph.views.run_lines import RunLines
from ralph.workspace import Workspace


class TerminalView:
    """Listens to a journal. Call `tick` once a second: it updates the live line, or prints a heartbeat elsewhere."""

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, folder: Path | None = None, clock: Clock | None = None
    ) -> None:
        """`as_json`: standard output is for a document, so only warnings are printed, on standard error."""
        self._quiet = quiet = quiet or as_json
        self._errors_only = as_json
        folder = folder or Path.cwd()
        self._clock = clock or Clock()
        self._living = LivingLines(quiet=quiet, clock=self._clock, logs=Workspace(root=folder).logs)
        self._attempts = AttemptLines(self._line, self._living, self._name, folder)
        self._gates = GateLines(self._line, self._living, self._name)
        self._run = RunLines(self._line, self._living, self._attempts.reasons, self._gates.flaky, is_quiet=quiet)
        self._jobs = 1
        self._who = ""  # what the next line is about, if several attempts run: a task, in a race also its agent
        self._racers: dict[tuple[str, int], str] = {}  # the agents of attempts that race
        self._handlers: dict[type[Event], Callable[..., None]] = {
            **dict.fromkeys((e.SandboxChosen, e.HostRefused), partial(sandbox.show, self._line)),
            **{kind: partial(show, self._line) for kind, show in judgements.SHOWN.items()},
            **self._gates.handlers,
            **self._attempts.handlers,
            **self._run.handlers,
        }

    def __call__(self, event: Event, _line: str = "") -> None:
        if isinstance(event, e.RunStarted):
            self._jobs = event.jobs
            if event.workflow == "session":
                self._attempts.of_session()
        if isinstance(event, e.AttemptStarted) and event.race:
            again = f" {event.attempt}" if event.race.count(event.agent) > 1 else ""
            self._racers[event.work, event.attempt] = f"{event.agent}{again}"
        name = self._name(event)
        self._living.take(event, name)
        handler = self._handlers.get(type(event))
        if handler:
            self._who = name if self._jobs > 1 or name != str(getattr(event, "work", "")) else ""
            handler(event)
        self._living.draw(is_urgent=not isinstance(event, e.AgentSpoke))

    def _name(self, event: Event) -> str:
        """Return the work that an event is about, and in a race the agent."""
        work, attempt = str(getattr(event, "work", "")), getattr(event, "attempt", 0)
        return " ".join(filter(None, (work, self._racers.get((work, attempt), ""))))

    def close(self) -> None:
        """The run is over; no more events follow."""
        self._living.clear()

    def tick(self) -> None:
        self._living.tick()

    def line(self, text: str = "", **style: Any) -> None:
        """A line that a quiet view shows too: wrapped on a terminal, with the time of day elsewhere."""
        stream = sys.stderr if self._errors_only else sys.stdout
        is_now = stream.isatty() and not self._clock.is_past
        text = text if is_now else stamped(text, self._clock.of_day())
        if self._living.shows:
            self._living.print(text, **style)
        else:
            say(text, err=self._errors_only, **style)

    def _line(self, text: str = "", *, always: bool = False, **style: Any) -> None:
        if self._quiet and not always:
            return
        if self._who and text:
            text = f"{self._who:>8} │ {text.strip()}"
            style["hang"] = max(len(self._who), 8) + 5 - (len(text) - len(text.lstrip()))
        lead = text[: len(text) - len(text.lstrip("\n"))]
        self.line(lead + text[len(lead) :].replace("\n", "\n    "), **style)  # no further line passes for Ralph's own
