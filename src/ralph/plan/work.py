"""What the engine does next and what it came to: the words every workflow shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ralph.plan.model import FinalReview, Finding, GateResult, Plan, SetupState, Spec, Task
from ralph.plan.usage import Usage


class WorkKind(Enum):
    """What an attempt is for; an attempt need not be a task."""

    SETUP = "setup"  # a step that runs once, before the first task
    TASK = "task"
    FINISH = "finish"  # all tasks of a spec are settled: what passed is committed
    REVIEW = "review"
    PLAN = "plan"  # questions, PRDs, plans: an answer is asked for, nothing is built


class Verdict(Enum):
    """What an attempt came to."""

    PASSED = "passed"
    FAILED = "failed"
    UNFINISHED = "unfinished"  # the agent did not say that it is done: the next attempt goes on
    BLOCKED = "blocked"  # the agent says that it cannot go on
    REOPENED = "reopened"  # a review sent it back, or the final one sent tasks back
    CONFLICTED = "conflicted"  # it collides with what landed meanwhile: costs nothing, comes again on top of that
    LIMITED = "limited"  # a usage limit: costs nothing, comes again later
    INTERRUPTED = "interrupted"  # a person or a crash ended it: costs nothing


class Ending(Enum):
    """Why a run ends."""

    DONE = "done"
    BLOCKED = "blocked"
    UNVERIFIED = "unverified"  # everything passed, but no gate was required, or the final review never agreed
    HALTED = "halted"  # a task failed, and in this workflow nothing is begun after that
    ONCE = "once"
    LIMITED = "limited"
    STOPPED = "stopped"  # nobody can work until a person mends something
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True)
class Resilience:
    """What the one wrapper around every step needs to know."""

    timeout: float | None = None
    max_retries: int = 0
    retry_delay: float = 0.0
    continue_on_error: bool = False
    breaker_threshold: int = 0  # 0: no circuit breaker
    breaker_reset: float = 60.0


@dataclass(frozen=True, kw_only=True)
class StepSpec:
    """One part of an attempt: a step type from the registry with its settings."""

    type: str
    name: str = ""
    resilience: Resilience = field(default_factory=Resilience)
    settings: object = None  # what the step type's own `Settings` made of its configuration; None: its defaults

    @property
    def label(self) -> str:
        return self.name or self.type


@dataclass(frozen=True, kw_only=True)
class ContractResult:
    """Whether a step wrote what it owes."""

    mistakes: tuple[str, ...] = ()  # what is missing or wrong; empty: it kept its contract
    restore: tuple[str, ...] = ()  # files that go back as they were
    verdict: Verdict = Verdict.PASSED  # what it says in them
    reason: str = ""


FileTexts = Mapping[str, bytes | None]
"""Files by their paths below the project's root; None: there is none."""


@dataclass(frozen=True, kw_only=True)
class Duty:
    """What one step owes in the files that its work may write, in the words of its workflow."""

    mode: str
    task: str = ""
    number: int = 0


@dataclass(frozen=True, kw_only=True)
class Work:
    """The next thing to do, as a workflow names it."""

    kind: WorkKind
    id: str  # the task's id, or a name such as `final`
    title: str
    steps: tuple[StepSpec, ...]
    role: str = "executor"
    prompt: str = "run"
    claims: frozenset[str] = frozenset()  # the agent must say one of these; empty: nothing is expected
    spelled: str = ""  # how it is to say that, if not as <ralph>CLAIM</ralph>
    unclaimed: Verdict = Verdict.FAILED  # what it comes to if it says none of them
    writable: tuple[str, ...] = ()  # what it may write beside the project's own files
    was_tried: bool = False  # by an earlier run, though the plan does not count its attempts
    trailer: str = ""  # a line in its commit by which that is found again
    duties: Mapping[str, Duty] = field(default_factory=dict)  # what its steps owe in those files, by their labels
    claimable: str = ""  # a file of Ralph's in which it may mark its task: read as a claim, then put back

    @property
    def lands(self) -> bool:
        """Whether what passes comes onto the branch."""
        return self.kind in (WorkKind.TASK, WorkKind.FINISH) or any(spec.type == "git-commit" for spec in self.steps)

    def step(self, label: str) -> StepSpec:
        return next(spec for spec in self.steps if spec.label == label)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Nothing can begin before something that is under way has ended."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """Nothing is left to do, and why."""

    ending: Ending
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one attempt came to, complete enough to be settled by another process tomorrow."""

    work_id: str
    number: int
    verdict: Verdict
    reason: str = ""
    at: str = ""
    commit: str = ""
    summary: str = ""
    trailers: tuple[str, ...] = ()  # what the person's hooks added to the message
    gates: tuple[GateResult, ...] = ()
    learnings: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    findings: tuple[Finding, ...] | None = None  # what a review of the task found; None: there was none
    usage: Usage = field(default_factory=Usage)
    retry_at: float | None = None
    fatal: bool = False
    base: str = ""
    changed: bool = True  # whether it left anything that was not there before
    touched: tuple[str, ...] = ()  # the files it changed, the first few
    verified_tree: str = ""  # the tree that the gates approved; empty: none did
    seconds: float = 0.0


def listed(what: str, lines: tuple[str, ...]) -> str:
    """A reason whose first line can stand alone, with all of its points below it."""
    first = f"{what}: {lines[0]}" if lines else f"{what}."
    if len(lines) < 2:
        return first
    return f"{first} (and {len(lines) - 1} more)\n\n" + "\n".join(f"- {line}" for line in lines)


def progress_of(plan: Plan, kind: WorkKind, work_id: str) -> Task | Spec | FinalReview | SetupState | None:
    """How far a piece of work has come: its settled attempts, its failures, its notes."""
    match kind:
        case WorkKind.REVIEW:
            return plan.review
        case WorkKind.SETUP:
            return plan.setup
        case WorkKind.FINISH:
            return plan.find_spec(work_id)
        case _:
            return plan.find(work_id)
