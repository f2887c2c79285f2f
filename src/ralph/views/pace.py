"""How long the rest of a run will take, from how long this project's tasks and steps took before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.journal.events import Event
from ralph.journal.reader import FILE, events, runs
from ralph.plan.work import Verdict, WorkKind

BASIS = 3
"""How many tasks must have passed before their median says anything."""
RUNS, LARGEST = 10, 8 << 20
"""How many earlier runs count, and how large their journals may be: reading them must not take long."""
WANTED = tuple(event.name() for event in (e.RunStarted, e.AttemptStarted, e.StepStarted, e.AttemptEnded))
DONE = (Verdict.PASSED, Verdict.HELD)


@dataclass
class _Running:
    """An attempt that is under way."""

    began: float
    steps: dict[str, float]  # when each of its steps began
    step: str = ""


class RunPace:
    """Takes the events of runs in their order, and estimates what is left of the last one."""

    def __init__(self) -> None:
        self._tasks: list[float] = []  # how long each passed task took, all its attempts together
        self._rest: dict[tuple[WorkKind, str], list[float]] = {}  # from the beginning of a step to its attempt's end
        self._whole: dict[WorkKind, list[float]] = {}  # how long attempts of other kinds took
        self._start()

    def _start(self, jobs: int = 1) -> None:
        self._jobs = jobs
        self._used: dict[str, float] = {}  # what the ended attempts at a task took, by task
        self._running: dict[tuple[str, int], _Running] = {}
        self._kinds: dict[tuple[str, int], WorkKind] = {}

    def learn(self, logs: Path, but: str = "") -> None:
        """Take the last runs of a project, except the one with the id `but`."""
        known = RunPace()
        for folder in [run for run in runs(logs) if run.name != but][-RUNS:]:
            if (folder / FILE).stat().st_size <= LARGEST:
                known.take_all(events(folder, *WANTED))
        self._tasks = known._tasks + self._tasks
        for kind, took in known._whole.items():
            self._whole[kind] = took + self._whole.get(kind, [])
        for step, rests in known._rest.items():
            self._rest[step] = rests + self._rest.get(step, [])

    def take_all(self, entries: Iterable[JournalEntry]) -> None:
        for entry in entries:
            self.take(entry.event, entry.moment)

    def take(self, event: Event, now: float) -> None:
        match event:
            case e.RunStarted():
                self._start(event.jobs)
            case e.AttemptStarted():
                key = event.work, event.attempt
                self._running[key], self._kinds[key] = _Running(began=now, steps={}), event.kind
            case e.StepStarted():
                running = self._running.get((event.work, event.attempt))
                if running:
                    running.step = event.step
                    running.steps[event.step] = now
            case e.AttemptEnded():
                self._end(event, now)

    def _end(self, event: e.AttemptEnded, now: float) -> None:
        key = event.work, event.attempt
        running = self._running.pop(key, None)
        self._kinds.pop(key, None)
        if event.kind is WorkKind.TASK:
            self._used[event.work] = self._used.get(event.work, 0.0) + event.seconds
        if event.verdict not in DONE:
            return
        if event.kind is WorkKind.TASK:
            self._tasks.append(self._used.pop(event.work))
        else:
            self._whole.setdefault(event.kind, []).append(event.seconds)
        for step, began in running.steps.items() if running else ():
            self._rest.setdefault((event.kind, step), []).append(max(now - began, 0.0))

    def left(self, to_do: int, now: float) -> float | None:
        """Return about how many seconds are left with this many tasks to do; None if nothing says so."""
        if len(self._tasks) < BASIS:
            return None
        typical = median(self._tasks)
        rests = [self._rest_of(key, typical, now) for key in self._running]
        at_tasks = sum(kind is WorkKind.TASK for kind in self._kinds.values())
        whole = sum(rests) + max(to_do - at_tasks, 0) * typical
        left = max(whole / min(self._jobs, max(to_do, 1)), *rests, 0.0)
        ending = WorkKind.REVIEW
        if ending in self._whole and ending not in self._kinds.values():
            left += median(self._whole[ending])
        return left or None

    def _rest_of(self, key: tuple[str, int], typical: float, now: float) -> float:
        """Return how much longer an attempt takes: by what followed its current step before, else by the whole."""
        running, kind = self._running[key], self._kinds[key]
        rests = self._rest.get((kind, running.step))
        if rests:
            return max(median(rests) - (now - running.steps[running.step]), 0.0)
        whole = typical if kind is WorkKind.TASK else median(self._whole.get(kind) or [0.0])
        return max(whole - (now - running.began), 0.0)


def median(values: Sequence[float]) -> float:
    """Return the middle value; `statistics` takes longer to import than a start may."""
    middle, is_odd = divmod(len(values), 2)
    inner = sorted(values)[middle - (not is_odd) : middle + 1]
    return sum(inner) / len(inner)
