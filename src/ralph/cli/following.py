"""Shows a run of another process while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ralph.journal.decode import JournalEntry, moment
from ralph.journal.events import AgentEnded, AgentSpoke, AgentStarted
from ralph.journal.follow import JournalFollower, follow
from ralph.journal.tail import JournalTail
from ralph.stores import lock
from ralph.text import strip_ansi
from ralph.views.lines import Clock, say, say_json_line
from ralph.views.terminal import TerminalView
from ralph.workspace import Workspace

MAX_LINE = 4_096  # of a line that an agent says


def tell(workspace: Workspace, entries: Iterable[JournalEntry]) -> None:
    """What these events were when they happened, as the run's own terminal showed it."""
    times = _Times()
    view = TerminalView(folder=workspace.root, clock=Clock(of_day=times.of_day, is_past=True))
    for entry in entries:
        times.at = entry.at
        view(entry.event, entry.line)
    view.close()


def show_json(workspace: Workspace, folder: Path, wanted: Callable[[JournalEntry], bool]) -> None:
    """Each event's line, as soon as it is written."""
    for entry in follow(folder, alive=lambda: _is_at_work(workspace, folder)):
        if wanted(entry):
            say_json_line(entry.line)


def show_lines(workspace: Workspace, folder: Path, wanted: Callable[[JournalEntry], bool]) -> None:
    """The lines that the run's own terminal shows; on a terminal also what its agents say."""
    times, voices = _Times(), _Voices(folder)
    view = TerminalView(folder=workspace.root, clock=Clock(seconds=times.seconds, of_day=times.of_day))
    with JournalFollower(folder, alive=lambda: _is_at_work(workspace, folder)) as run:
        while True:
            for entry in filter(wanted, run.news()):
                times.at = entry.at
                view(entry.event, entry.line)
                voices.hear_of(entry.event)
            times.at = ""
            for spoken in voices.listen():
                view(spoken)
            sys.stdout.flush()
            if run.is_over():
                break
            run.watch.paths = {run.path, *voices.paths}
            run.watch.wait(run.pause)
            view.tick()
    view.close()
    if not run.has_ended:
        say("The run was killed: its process no longer exists.", fg="yellow", err=True)


class _Times:
    """What the lines are stamped with: when their event was written, not when it is read."""

    at = ""  # empty: a line of now

    def seconds(self) -> float:
        return moment(self.at) or time.time()

    def of_day(self) -> str:
        with suppress(ValueError):  # a journal can be planted
            return datetime.fromisoformat(self.at).astimezone().strftime("%H:%M:%S")
        return Clock().of_day()


def _is_at_work(workspace: Workspace, folder: Path) -> bool:
    owner = lock.holder(workspace.lock)
    return owner is not None and owner.run == folder.name


class _Voices:
    """The agents that are running, and what they say."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[tuple[str, int], JournalTail] = {}

    @property
    def paths(self) -> set[Path]:
        return {tail.path for tail in self._tails.values()}

    def hear_of(self, event: object) -> None:
        match event:
            case AgentStarted() if event.words:
                # only a file of this run: an agent can plant a journal
                self._tails[event.work, event.attempt] = JournalTail(self._folder / Path(event.words).name, MAX_LINE)
            case AgentEnded():
                tail = self._tails.pop((event.work, event.attempt), None)
                if tail:
                    tail.close()

    def listen(self) -> list[AgentSpoke]:
        """The last thing that each agent has said since."""
        spoken = []
        for (work, attempt), tail in self._tails.items():
            said = [text for line in tail.read() if (text := strip_ansi(line.decode(errors="replace")).strip())]
            spoken += [AgentSpoke(work=work, attempt=attempt, text=text) for text in said[-1:]]
        return spoken
