"""What a report says, as plain values. Everything here is made from the journals, the plan and git."""

from __future__ import annotations

from dataclasses import field

from ralph.frozen import Frozen
from ralph.plan.budget import AmountSpent
from ralph.plan.model import Finding, GateResult, PageResult, Plan, Task
from ralph.plan.usage import Usage


class Span(Frozen):
    """A part of an attempt with a beginning and an end, in seconds since 1970."""

    kind: str  # agent, gate, page
    name: str
    begin: float
    end: float
    passed: bool = True


class CallFacts(Frozen):
    """One call of an agent, and the names of its files in the run's folder."""

    step: str
    agent: str
    words: str  # what it said; empty: an older Ralph kept only its output
    log: str  # all of its output
    prompt: str


class AttemptHistory(Frozen):
    """One attempt, as the journal tells it."""

    run: str
    work: str
    number: int
    kind: str  # task, review, plan
    title: str
    begin: float  # in seconds since 1970
    end: float
    verdict: str  # empty: it has no end, because its run was killed
    reason: str
    seconds: float
    agent: str
    usage: Usage
    base: str = ""
    commit: str = ""
    gates: tuple[GateResult, ...] = ()
    pages: tuple[PageResult, ...] = ()
    spans: tuple[Span, ...] = ()
    evidence: str = ""
    concerns: tuple[str, ...] = ()
    proven_by: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()  # files that are not its own, which it changed
    calls: tuple[CallFacts, ...] = ()
    now: str = ""  # what it did last, if it has no verdict

    @property
    def name(self) -> str:
        return f"{self.work}/{self.number}"


class RunFacts(Frozen):
    """One run, or one call that planned."""

    id: str
    begin: float
    end: float  # of its last event
    ending: str  # empty: it was killed, or it is running
    reason: str = ""
    agent: str = ""
    model: str = ""
    jobs: int = 1
    plans: bool = False  # it made or changed the plan

    @property
    def seconds(self) -> float:
        return max(self.end - self.begin, 0.0)


class History(Frozen):
    """What all journals of a plan tell."""

    runs: tuple[RunFacts, ...] = ()
    attempts: tuple[AttemptHistory, ...] = ()

    def of(self, work: str) -> tuple[AttemptHistory, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.work == work)

    @property
    def seconds(self) -> float:
        """How long Ralph worked, in all runs together."""
        return sum(run.seconds for run in self.runs)


class ChangedTests(Frozen):
    """Tests by name that the work added, changed or removed."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class Change(Frozen):
    """What landed: the difference between two commits, without Ralph's own files."""

    base: str
    commit: str
    files: int = 0
    added: int = 0  # lines
    removed: int = 0
    tests: ChangedTests = field(default_factory=ChangedTests)

    @property
    def lines(self) -> int:
        return self.added + self.removed


class TaskFacts(Frozen):
    """A task, its attempts, and what of them landed."""

    task: Task
    attempts: tuple[AttemptHistory, ...]
    spent: AmountSpent
    change: Change | None = None  # None: nothing landed, or git no longer has it
    no_page: str = ""  # why no page was opened, although it is UI work

    @property
    def pages(self) -> tuple[PageResult, ...]:
        """The pages of its last attempt that opened any."""
        return next((attempt.pages for attempt in reversed(self.attempts) if attempt.pages), ())

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.task.findings


class Notice(Frozen):
    """Something that deserves a person's attention, and the command that settles it, if there is one."""

    task: str  # empty: it is about the plan
    text: str
    commands: tuple[str, ...] = ()


class PlanReport(Frozen):
    """Everything about one plan."""

    target: str
    workflow: str
    plan: Plan
    tasks: tuple[TaskFacts, ...]
    history: History
    spent: AmountSpent
    change: Change | None  # of the whole branch
    branch: str  # empty: there is none yet
    commits: int
    is_merged: bool  # the person's branch has all of it
    running: str  # the run that is working on it now; empty: none
    at: str  # when the report was made
