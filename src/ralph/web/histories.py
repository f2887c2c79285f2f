"""What the journals of a project tell: each finished run is read once, and a living run only for what is new."""

from __future__ import annotations

import threading
from pathlib import Path

from ralph.frozen import Frozen
from ralph.journal.follow import JournalFollower
from ralph.journal.reader import FILE, runs
from ralph.report.facts import AttemptHistory, History, RunFacts
from ralph.report.history import RunReading, names_of, of_interest
from ralph.stores import lock
from ralph.workspace import Workspace

Readings = dict[str, RunReading]
"""By the target's name in the journal."""


class _Known(Frozen):
    """What a finished run was, and the file that said so."""

    mark: tuple[int, int, int]
    told: dict[str, tuple[RunFacts, tuple[AttemptHistory, ...]]]


class _Living:
    """A run that is at work: only its new events are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readings: Readings = {}
        self._follower = JournalFollower(folder)
        self._follower.__enter__()

    def told(self) -> dict[str, tuple[RunFacts, tuple[AttemptHistory, ...]]]:
        for entry in self._follower.news():
            self._readings.setdefault(entry.target, RunReading(self._folder.name)).take(entry)
        return _told(self._readings)

    def close(self) -> None:
        self._follower.__exit__()


class Histories:
    """Reads the journals of one project, whoever asks."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, _Known] = {}
        self._living: dict[str, _Living] = {}
        self._turn = threading.Lock()

    def of(self, target: str) -> History:
        """Return the runs and attempts of a plan, and those that planned it, oldest first."""
        found_runs: list[RunFacts] = []
        attempts: list[AttemptHistory] = []
        with self._turn:
            owner = lock.holder(self._workspace.lock)
            folders = runs(self._workspace.logs)
            self._forget({folder.name for folder in folders}, owner.run if owner else "")
            for folder in folders:
                told = self._told(folder, is_living=bool(owner and owner.run == folder.name))
                for name in names_of(target):
                    if name in told:
                        found_runs.append(told[name][0])
                        attempts += told[name][1]
        return History(runs=tuple(found_runs), attempts=tuple(attempts))

    def _told(self, folder: Path, *, is_living: bool) -> dict[str, tuple[RunFacts, tuple[AttemptHistory, ...]]]:
        if is_living:
            if folder.name not in self._living:
                self._living[folder.name] = _Living(folder)
            return self._living[folder.name].told()
        try:
            status = (folder / FILE).stat()
        except OSError:
            return {}
        mark = status.st_ino, status.st_size, status.st_mtime_ns
        known = self._known.get(folder.name)
        if known is None or known.mark != mark:
            readings: Readings = {}
            for entry in of_interest(folder):
                readings.setdefault(entry.target, RunReading(folder.name)).take(entry)
            known = self._known[folder.name] = _Known(mark=mark, told=_told(readings))
        return known.told

    def _forget(self, names: set[str], living: str) -> None:
        """What has ended is read once more, as it is now: an agent may have added lines that Ralph then removed."""
        for name in [name for name in self._living if name != living]:
            self._living.pop(name).close()
        for name in self._known.keys() - names:
            del self._known[name]

    def close(self) -> None:
        with self._turn:
            self._forget(set(), "")


def _told(readings: Readings) -> dict[str, tuple[RunFacts, tuple[AttemptHistory, ...]]]:
    return {
        name: (run, tuple(reading.attempts())) for name, reading in readings.items() if (run := reading.run) is not None
    }
