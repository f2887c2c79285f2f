"""Reads all journals of a plan, in one pass, into runs and attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.journal.reader import events, runs
from ralph.plan.model import PageResult
from ralph.plan.usage import Usage
from ralph.report.facts import AttemptHistory, CallFacts, History, RunFacts, Span

PLANNING = "plan-"
"""How the target of a call that plans begins."""
MAX_SPANS = 200  # of one attempt
MAX_CALLS = 50  # of one attempt, the newest
WANTED = (
    e.RunStarted, e.RunEnded, e.AttemptStarted, e.AttemptEnded, e.AgentStarted, e.AgentEnded, e.GateEnded,
    e.PageChecked, e.Undone,
)  # fmt: skip
"""What a run that has ended is told from; of one at work also the events that say what it does now."""


def read(logs: Path, target: str) -> History:
    """Return the runs and attempts of a plan, and those that planned it, oldest first."""
    found_runs: list[RunFacts] = []
    attempts: list[AttemptHistory] = []
    for folder in runs(logs):
        reading = RunReading(folder.name)
        for entry in of_interest(folder):
            if entry.target in names_of(target):
                reading.take(entry)
        if reading.run:
            found_runs.append(reading.run)
            attempts += reading.attempts()
    return History(runs=tuple(found_runs), attempts=tuple(attempts))


def of_interest(folder: Path) -> Iterator[JournalEntry]:
    """Yield the events of a run that its history is made of."""
    return events(folder, *(event.name() for event in WANTED))


def names_of(target: str) -> tuple[str, str]:
    """Return what journals call a plan: while it is run, and while it is planned."""
    return target, f"{PLANNING}{target}"


@dataclass
class _AttemptReading:
    """What is known about an attempt so far."""

    run: str
    begin: float
    last: float
    started: e.AttemptStarted | None = None
    ended: e.AttemptEnded | None = None
    spans: list[Span] = field(default_factory=list)
    pages: dict[str, PageResult] = field(default_factory=dict)
    undone: list[str] = field(default_factory=list)
    agent: str = ""
    now: str = ""
    calls: list[CallFacts] = field(default_factory=list)

    def add_span(self, kind: str, name: str, seconds: float, *, passed: bool) -> None:
        if len(self.spans) < MAX_SPANS:
            begin = max(self.last - seconds, self.begin)
            self.spans.append(Span(kind=kind, name=name, begin=begin, end=self.last, passed=passed))

    def facts(self, work: str, number: int) -> AttemptHistory:
        started, ended = self.started, self.ended
        return AttemptHistory(
            run=self.run,
            work=work,
            number=number,
            kind=(ended or started).kind.value if ended or started else "",  # type: ignore[union-attr]
            title=started.title if started else "",
            begin=self.begin,
            end=self.last,
            verdict=ended.verdict.value if ended else "",
            reason=ended.reason if ended else "",
            seconds=ended.seconds if ended else max(self.last - self.begin, 0.0),
            agent=(ended.agent if ended else "") or self.agent,
            usage=ended.usage if ended else Usage(),
            base=ended.base if ended else "",
            commit=ended.commit if ended else "",
            gates=ended.gates if ended else (),
            pages=tuple(self.pages.values()),
            spans=tuple(self.spans),
            evidence=ended.evidence.value if ended and ended.evidence else "",
            concerns=ended.concerns if ended else (),
            proven_by=ended.proven_by if ended else (),
            undone=tuple(dict.fromkeys(self.undone)),
            calls=tuple(self.calls[-MAX_CALLS:]),
            now="" if ended else self.now,
        )


class RunReading:
    """Takes the events of one run in their order."""

    def __init__(self, run: str) -> None:
        self._id = run
        self._begin = self._end = 0.0
        self._plans = False
        self._started: e.RunStarted | None = None
        self._ended: e.RunEnded | None = None
        self._attempts: dict[tuple[str, int], _AttemptReading] = {}

    @property
    def run(self) -> RunFacts | None:
        if not self._begin:
            return None
        started, ended = self._started, self._ended
        return RunFacts(
            id=self._id,
            begin=self._begin,
            end=self._end,
            ending=ended.ending.value if ended else "done" if self._plans else "",
            reason=ended.reason if ended else "",
            agent=started.agent if started else "",
            model=started.model if started else "",
            jobs=started.jobs if started else 1,
            plans=self._plans,
        )

    def attempts(self) -> Iterator[AttemptHistory]:
        for (work, number), reading in self._attempts.items():
            yield reading.facts(work, number)

    def take(self, entry: JournalEntry) -> None:
        at = entry.moment
        self._begin = self._begin or at
        self._end = max(self._end, at)
        self._plans = self._plans or entry.target.startswith(PLANNING)
        event = entry.event
        if isinstance(event, e.RunStarted):
            self._started = event
        elif isinstance(event, e.RunEnded):
            self._ended = event
        elif isinstance(event, e.AttemptEvent) and event.work:
            key = event.work, event.attempt
            known = self._attempts.setdefault(key, _AttemptReading(run=self._id, begin=at, last=at))
            known.last = max(known.last, at)
            _take(known, event)


def _take(known: _AttemptReading, event: e.AttemptEvent) -> None:
    match event:
        case e.AttemptStarted():
            known.started = event
        case e.AttemptEnded():
            known.ended = event
        case e.StepStarted():
            known.now = event.step
        case e.AgentStarted():
            known.agent = event.agent or event.command
            known.now = known.agent
            known.calls.append(_call(event))
        case e.AgentEnded():
            known.add_span("agent", known.agent, event.seconds, passed=event.how == "exited" and not event.code)
        case e.GateStarted():
            known.now = event.gate
        case e.GateEnded():
            known.add_span("gate", event.result.name, event.result.seconds, passed=event.result.passed)
        case e.PageChecked():
            known.pages[event.result.page] = event.result
            known.add_span("page", event.result.page, event.result.seconds, passed=event.result.passed)
        case e.Undone():
            known.undone += event.paths


def _call(event: e.AgentStarted) -> CallFacts:
    """A journal may be forged, so that only the names of its files count: the folder is the run's."""
    log = Path(event.log).name
    stem = log.removesuffix(".log")
    return CallFacts(
        step=stem.rpartition(".")[2],
        agent=event.agent or event.command,
        words=Path(event.words).name,
        log=log,
        prompt=f"{stem}.prompt.md" if stem != log else "",
    )
