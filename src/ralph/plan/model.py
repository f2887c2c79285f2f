"""Tasks and plans: frozen values that every workflow's files are read into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from ralph.plan.usage import Usage


class TaskState(Enum):
    """Where a task stands."""

    PENDING = "pending"  # to do, or to do again
    PASSED = "passed"  # its gates were green, by Ralph's own count, or a person accepted it
    BLOCKED = "blocked"  # tried too often, or an agent or a person said so


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One verification command."""

    name: str
    command: str
    timeout: float
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One verification command and what it came to."""

    name: str
    command: str
    passed: bool
    seconds: float
    required: bool = True
    code: int | None = None
    reason: str = ""
    output: str = ""  # the useful part, for a person and for the next prompt
    log: str = ""
    in_place: bool = False  # it ran where the agent worked, not on a clean checkout


def is_in_place(gates: Iterable[GateResult]) -> bool:
    """Whether any of them ran where the agent worked."""
    return any(gate.in_place for gate in gates)


class Severity(Enum):
    """How much a reviewer's finding matters."""

    CRITICAL = "critical"  # it is wrong, loses something, or opens a hole
    MAJOR = "major"  # a criterion is not met, or something that matters is missing
    MINOR = "minor"  # it could be better


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a reviewer found."""

    severity: Severity
    problem: str
    file: str = ""  # empty: it is not about one file
    line: int | None = None
    remedy: str = ""

    def __str__(self) -> str:
        """All of it in one line."""
        where = f" {self.file}:{self.line}" if self.file and self.line else f" {self.file}" if self.file else ""
        remedy = f" → {self.remedy}" if self.remedy else ""
        return " ".join(f"{self.severity.value}{where}: {self.problem}{remedy}".split())


@dataclass(frozen=True, kw_only=True)
class PageFinding:
    """Something that is wrong with a page."""

    page: str  # as the criterion names it
    kind: str  # status, load, request, console, exception, banner, overlay, blank, crash
    text: str
    screenshot: str = ""

    @property
    def line(self) -> str:
        return f"{self.page} · {self.kind} · {self.text}"


@dataclass(frozen=True, kw_only=True)
class PageResult:
    """One page and what a browser found there."""

    page: str
    url: str
    seconds: float
    status: int | None = None  # None: nothing was answered
    findings: tuple[PageFinding, ...] = ()
    screenshot: str = ""  # relative to the project's root, where it lies below it

    @property
    def passed(self) -> bool:
        return not self.findings


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """A person's word in place of the gates' verdict."""

    by: str  # the name that git knows the person by; empty: it knows none
    why: str


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """What a passed task left behind."""

    completed_at: str
    commit: str
    summary: str
    gates: tuple[GateResult, ...] = ()
    accepted: Acceptance | None = None  # a person accepted the task; None: its gates decided

    @property
    def in_place(self) -> bool:
        return is_in_place(self.gates)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One unit of work for one fresh agent."""

    id: str
    title: str
    description: str = ""
    criteria: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    priority: int = 0
    depends_on: tuple[str, ...] = ()
    state: TaskState = TaskState.PENDING
    failures: int = 0
    attempts: int = 0  # settled attempts, whatever they came to; numbers are never used twice
    idle: int = 0  # attempts in a row that changed nothing
    base: str = ""  # the commit this task's work began on; empty until it begins
    notes: str = ""
    tried: tuple[str, ...] = ()  # what earlier attempts did and came to, a line each
    rounds: int = 0  # how often a review has sent it back
    resets: int = 0  # how often the final verification has
    findings: tuple[Finding, ...] = ()  # what its last review found, whatever that came to
    seconds: float = 0.0  # of all settled attempts together
    usage: Usage = field(default_factory=Usage)  # likewise
    result: TaskResult | None = None
    spec: str = ""  # the spec it belongs to, in a plan that has some

    @property
    def acceptance(self) -> Acceptance | None:
        """Who accepted it, if a person did."""
        return self.result.accepted if self.result and self.state is TaskState.PASSED else None

    @property
    def standing(self) -> str:
        """Its state as views name it: what a person accepted has not passed."""
        return "accepted" if self.acceptance else self.state.value

    @property
    def wish(self) -> tuple[object, ...]:
        """What is asked for, without how far it has come."""
        return self.title, self.description, self.criteria, self.tags, self.priority, self.depends_on


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Tasks that belong together: their work is committed once, when all of them are settled."""

    id: str
    name: str
    file: str = ""
    priority: int = 0
    context: str = ""
    criteria: tuple[str, ...] = ()
    state: TaskState = TaskState.PENDING  # PASSED: all its tasks did; BLOCKED: what passed is committed as partial
    attempts: int = 0  # at committing it
    failures: int = 0
    notes: str = ""
    result: TaskResult | None = None


@dataclass(frozen=True, kw_only=True)
class FinalReview:
    """How far the plan's final review has come."""

    attempts: int = 0
    failures: int = 0  # rounds in a row without a usable verdict
    notes: str = ""
    verified_at: str = ""
    verified_commit: str = ""


@dataclass(frozen=True, kw_only=True)
class SetupState:
    """How far the steps have come that run once, before the first task."""

    attempts: int = 0
    failures: int = 0  # in a row
    notes: str = ""
    done: frozenset[str] = frozenset()  # the names of those that have run


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a plan has halted: the first task that was out of attempts."""

    task: str
    title: str
    message: str
    at: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All tasks of one target with their state."""

    target: str
    branch: str = ""
    description: str = ""
    tasks: tuple[Task, ...] = ()
    current: str | None = None
    started_at: str = ""
    learnings: tuple[str, ...] = ()
    review: FinalReview = field(default_factory=FinalReview)
    setup: SetupState = field(default_factory=SetupState)
    specs: tuple[Spec, ...] = ()  # by priority; empty: every task is committed on its own
    failure: Failure | None = None  # it has halted, and nothing is begun before a person starts it again

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def find(self, task_id: str) -> Task | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def find_spec(self, spec_id: str) -> Spec | None:
        return next((spec for spec in self.specs if spec.id == spec_id), None)

    def of_spec(self, spec_id: str) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.spec == spec_id)

    @property
    def in_place(self) -> bool:
        """Whether any task passed by gates that ran where its agent worked."""
        return any(task.result.in_place for task in self.tasks if task.result)

    def count(self, state: TaskState) -> int:
        return sum(task.state is state for task in self.tasks)

    @property
    def passed(self) -> int:
        """How many tasks passed by their gates."""
        return self.count(TaskState.PASSED) - self.accepted

    @property
    def accepted(self) -> int:
        """How many tasks a person accepted."""
        return sum(task.acceptance is not None for task in self.tasks)

    @property
    def unverified(self) -> tuple[Task, ...]:
        """Tasks that passed though no gate was required, and that no person accepted."""
        return tuple(
            task
            for task in self.tasks
            if task.state is TaskState.PASSED
            and task.result
            and not task.acceptance
            and not any(gate.required for gate in task.result.gates)
        )

    def change(self, task_id: str, how: Callable[[Task], Task]) -> Plan:
        """The same plan with one task changed."""
        return replace(self, tasks=tuple(how(task) if task.id == task_id else task for task in self.tasks))

    def change_spec(self, spec_id: str, how: Callable[[Spec], Spec]) -> Plan:
        """The same plan with one spec changed."""
        return replace(self, specs=tuple(how(spec) if spec.id == spec_id else spec for spec in self.specs))


MAX_LEARNING = 500


def learn(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Add what is new, cut to a sensible length, each thing once whatever its case and spacing."""
    seen = {_same(text) for text in known}
    added = list(known)
    for raw in new:
        text = " ".join(raw.split())[:MAX_LEARNING]
        if text and _same(text) not in seen:
            seen.add(_same(text))
            added.append(text)
    return tuple(added)


def _same(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!")
