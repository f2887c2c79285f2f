"""What the engine does next and the outcome of it, shared by all workflows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum

from ralph.frozen import Frozen
from ralph.plan.evidence import Evidence
from ralph.plan.model import FinalReview, Finding, GateResult, Need, NeedKind, Plan, SetupState, Spec, Task
from ralph.plan.usage import Usage


class WorkKind(Enum):
    """What an attempt is for; it need not be a task."""

    SETUP = "setup"  # a step that runs once, before the first task
    TASK = "task"
    FINISH = "finish"  # all tasks of a spec are settled: what passed is committed
    REVIEW = "review"
    PLAN = "plan"  # questions, PRDs, plans: the agent answers, nothing is built


class Verdict(Enum):
    """The outcome of an attempt."""

    PASSED = "passed"
    FAILED = "failed"
    UNFINISHED = "unfinished"  # the agent did not say that it is done: the next attempt continues
    BLOCKED = "blocked"  # the agent says that it cannot continue
    HELD = "held"  # its gates are green, but a person must approve what it changed about them
    REOPENED = "reopened"  # a review sent it back, or the final review sent tasks back
    CONFLICTED = "conflicted"  # it conflicts with newly landed work: not a failure, retried on top of it
    LIMITED = "limited"  # a usage limit: not a failure, retried later
    INTERRUPTED = "interrupted"  # a person or a crash ended it: not a failure


class Ending(Enum):
    """Why a run ends."""

    DONE = "done"
    BLOCKED = "blocked"
    UNVERIFIED = "unverified"  # everything passed, but no gate was required, or the final review never agreed
    HALTED = "halted"  # a task failed, and this workflow starts nothing after that
    ONCE = "once"
    LIMITED = "limited"
    BUDGET = "budget"  # what may be spent is used up
    STOPPED = "stopped"  # nothing can work until a person fixes something
    INTERRUPTED = "interrupted"


class Resilience(Frozen):
    """The settings of the wrapper around every step."""

    timeout: float | None = None
    max_retries: int = 0
    retry_delay: float = 0.0
    continue_on_error: bool = False
    breaker_threshold: int = 0  # 0: no circuit breaker
    breaker_reset: float = 60.0


ASKED_AGAIN = Resilience(max_retries=2)
"""For a call that must write something: what cannot be used is asked for again, with the mistakes."""


class StepSpec(Frozen):
    """One part of an attempt: a step type from the registry with its settings."""

    type: str
    name: str = ""
    resilience: Resilience = field(default_factory=Resilience)
    settings: object = None  # the parsed configuration (`Settings` of the step type); None: defaults

    @property
    def label(self) -> str:
        return self.name or self.type


class ContractResult(Frozen):
    """Whether a step fulfilled its contract."""

    mistakes: tuple[str, ...] = ()  # what is missing or wrong; empty: the contract is fulfilled
    restore: tuple[str, ...] = ()  # files to restore
    verdict: Verdict = Verdict.PASSED  # the verdict that the step wrote into them
    reason: str = ""


FileTexts = Mapping[str, bytes | None]
"""File contents by path below the project root; None: the file does not exist."""


class Duty(Frozen):
    """One step's contract in the files that its work may write, in the terms of its workflow."""

    mode: str
    task: str = ""
    number: int = 0


class Work(Frozen):
    """The next thing to do, as a workflow defines it."""

    kind: WorkKind
    id: str  # the task's id, or a name such as `final`
    title: str
    steps: tuple[StepSpec, ...]
    role: str = "executor"
    prompt: str = "run"
    claims: frozenset[str] = frozenset()  # the agent must make one of these claims; empty: none is expected
    spelled: str = ""  # how the agent spells the claim, if not as <ralph>CLAIM</ralph>
    unclaimed: Verdict = Verdict.FAILED  # the verdict if it makes none of them
    writable: tuple[str, ...] = ()  # what it may write besides the project's own files
    was_tried: bool = False  # by an earlier run, although the plan does not count its attempts
    trailer: str = ""  # a line in its commit message, to find the commit later
    line: str = ""  # the pending line on which its work lands; empty: it lands on the branch
    closes: str = ""  # the pending line whose work it puts on the branch
    alone: bool = False  # nothing else runs at the same time
    duties: Mapping[str, Duty] = field(default_factory=dict)  # the contracts of its steps in those files, by step label
    claimable: str = ""  # Ralph's file in which the agent may mark its task: read as a claim, then restored

    @property
    def lands(self) -> bool:
        """Whether passed work lands on the branch."""
        return self.kind in (WorkKind.TASK, WorkKind.FINISH) or any(spec.type == "git-commit" for spec in self.steps)

    @property
    def is_reviewed(self) -> bool:
        """Whether an agent judges the work besides the gates."""
        return any(spec.type in ("review", "role") for spec in self.steps)

    @property
    def rides_early(self) -> bool:
        """Whether its gates run on the merge train; reviewed work gets on after the review, which takes its time."""
        return self.lands and not self.closes and not self.is_reviewed

    @property
    def can_race(self) -> bool:
        """Whether several agents can attempt it at the same time: its work lands, and is no part of the plan itself."""
        return self.kind is WorkKind.TASK and self.lands and not self.duties

    def step(self, label: str) -> StepSpec:
        return next(spec for spec in self.steps if spec.label == label)


class Waiting(Frozen):
    """Nothing can start before some running work has ended."""


class Finished(Frozen):
    """Nothing is left to do, and why."""

    ending: Ending
    reason: str = ""


class Outcome(Frozen):
    """The outcome of one attempt, complete enough for another process to settle it later."""

    work_id: str
    number: int
    verdict: Verdict
    reason: str = ""
    at: str = ""
    commit: str = ""
    summary: str = ""
    trailers: tuple[str, ...] = ()  # lines that the person's hooks added to the message
    gates: tuple[GateResult, ...] = ()
    learnings: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    findings: tuple[Finding, ...] | None = None  # the findings of the task's review; None: there was none
    usage: Usage = field(default_factory=Usage)
    agent: str = ""  # the agent that did the work, by its name in the configuration
    retry_at: float | None = None
    fatal: bool = False
    base: str = ""
    changed: bool = True  # whether it changed anything
    touched: tuple[str, ...] = ()  # the first few files it changed
    verified_tree: str = ""  # the tree that the gates approved; empty: none
    evidence: Evidence | None = None  # what shows that the work does what it should
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without the work
    concerns: tuple[str, ...] = ()  # what the work may have weakened about the checks
    need: Need | None = None  # what a person must decide
    tester: str = ""  # the agent that wrote its acceptance tests
    seconds: float = 0.0
    rivals: tuple[int, ...] = ()  # the other attempts of its race
    by_person: bool = False  # a person ended the attempt, and the run goes on


def is_approved(plan: Plan, work: Work) -> bool:
    """Return whether a person has approved what an earlier attempt made, so that it is ready to land."""
    task = plan.find(work.id) if work.kind is WorkKind.TASK else None
    return bool(task and task.need and task.need.kind is NeedKind.LANDING)


def without_agent(plan: Plan, work: Work) -> Work:
    """Return work without its agents, if a person has approved it."""
    if not is_approved(plan, work):
        return work
    return replace(work, steps=tuple(spec for spec in work.steps if spec.type not in ("agent", "review")))


def listed(what: str, lines: tuple[str, ...]) -> str:
    """Format a reason whose first line can stand alone, with all points below it."""
    first = f"{what}: {lines[0]}" if lines else f"{what}."
    if len(lines) < 2:
        return first
    return f"{first} (and {len(lines) - 1} more)\n\n" + "\n".join(f"- {line}" for line in lines)


def progress_of(plan: Plan, kind: WorkKind, work_id: str) -> Task | Spec | FinalReview | SetupState | None:
    """Return the progress of a piece of work: its attempts, failures and notes."""
    match kind:
        case WorkKind.REVIEW:
            return plan.review
        case WorkKind.SETUP:
            return plan.setup
        case WorkKind.FINISH:
            return plan.find_spec(work_id)
        case _:
            return plan.find(work_id)
