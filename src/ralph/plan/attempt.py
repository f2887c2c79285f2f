"""An attempt as data: what is to be done, how far it has come, and what each of its steps came to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ralph.plan.model import Finding, Gate, GateResult, Severity, Task
from ralph.plan.usage import Usage
from ralph.plan.work import StepSpec, Verdict, Work, WorkKind
from ralph.text import readable

DECISIVE = frozenset({"agent", "verify", "review", "role", "final-review"})
"""Steps without whose success nothing passes; `continue_on_error` only lets the steps after them run."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt, complete and without behaviour: it can be stored, sent to another machine, or made in a test."""

    run: str
    target: str
    number: int
    base: str  # the commit it begins on
    work: Work
    task: Task | None = None  # the task as the plan had it when the attempt began; None: the work is no task
    gates: tuple[Gate, ...] = ()
    ui_gates: tuple[Gate, ...] = ()  # gates that need services and pages
    is_ui: bool = False  # whether services and pages are checked
    protect: tuple[str, ...] = ()  # globs of files that no agent may change
    model: str = ""  # asked for on the command line: comes before any that is configured
    commit_message: str = ""  # what the commit says if its agent made none
    blocking: frozenset[Severity] = frozenset()  # the review findings that send the work back
    max_rounds: int = 0  # how often a review may do that

    @property
    def label(self) -> str:
        """The beginning of the names of its log files."""
        return f"{self.work.id}-{self.number}"

    def step(self, label: str) -> StepSpec:
        return self.work.step(label)


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What one step came to; a step that did its job says PASSED."""

    step: str
    verdict: Verdict
    reason: str = ""
    claims: frozenset[str] = frozenset()
    learnings: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    said: str = ""  # the agent's own reason
    usage: Usage = field(default_factory=Usage)
    gates: tuple[GateResult, ...] = ()
    findings: tuple[Finding, ...] | None = None  # what a reviewer found; None: nobody has judged
    commit: str = ""
    summary: str = ""
    hooked_subject: str = ""  # what the person's hooks made of the subject
    trailers: tuple[str, ...] = ()  # what they added to the message
    changed: bool = False  # whether it left anything that was not there before
    touched: tuple[str, ...] = ()  # the files it changed, the first few
    left_out: tuple[str, ...] = ()  # what is not part of the commit, each with the reason
    no_page: str = ""  # why no page was opened, although it is UI work
    verified_tree: str = ""  # the tree that the gates approved
    retry_at: float | None = None
    final: bool = False  # trying it again would come to the same
    fatal: bool = False  # nobody could do better until a person mends something


@dataclass(frozen=True, kw_only=True)
class Record:
    """One attempt on its way."""

    run: str
    target: str
    kind: WorkKind
    work: str
    number: int
    base: str  # where the branch stood
    branch: str
    began: float
    slot: int = 0
    agent_at_work: bool = False  # an agent was let loose, and what it came to is not written down yet
    read_only: bool = False  # that agent was to change nothing in the project
    steps: tuple[StepResult, ...] = ()

    def result_of(self, step: str) -> StepResult | None:
        return next((result for result in self.steps if result.step == step), None)

    @property
    def has_work(self) -> bool:
        """Whether an agent has finished and what it made is kept: then the attempt can go on from there."""
        return any(result.commit and result.verdict is not Verdict.INTERRUPTED for result in self.steps)

    def add(self, result: StepResult) -> Record:
        return replace(self, steps=(*self.steps, _readable(result)), agent_at_work=False)


def _readable(result: StepResult) -> StepResult:
    """File names and commit subjects may be no text at all: where people and agents read them, they are."""
    return replace(
        result,
        reason=readable(result.reason),
        summary=readable(result.summary),
        hooked_subject=readable(result.hooked_subject),
        trailers=tuple(map(readable, result.trailers)),
        touched=tuple(map(readable, result.touched)),
    )


def counts_against(work: Work, result: StepResult) -> bool:
    """A failed step does, unless it may fail; the work itself and its gates may not, whatever is configured."""
    spec = next((spec for spec in work.steps if spec.label == result.step), None)
    tolerated = spec is not None and spec.resilience.continue_on_error and spec.type not in DECISIVE
    is_red = any(gate.required and not gate.passed for gate in result.gates)
    forgiven = tolerated and result.verdict is Verdict.FAILED and not is_red
    return result.verdict is not Verdict.PASSED and not forgiven
