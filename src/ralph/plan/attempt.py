"""An attempt as data: what to do, its progress, and the results of its steps."""

from __future__ import annotations

from dataclasses import field, replace

from ralph.frozen import Frozen
from ralph.plan.evidence import Evidence
from ralph.plan.model import Finding, Gate, GateResult, Need, Severity, Task
from ralph.plan.usage import Usage
from ralph.plan.work import StepSpec, Verdict, Work, WorkKind
from ralph.text import one_line, plain, readable

DECISIVE = frozenset({"acceptance-tests", "agent", "verify", "review", "role", "final-review"})
"""Steps that must succeed; for them, `continue_on_error` only lets later steps run."""


class GivenTests(Frozen):
    """The acceptance tests of an attempt: its agent sees them and cannot change them."""

    commit: str  # the attempt's base with the tests in it
    paths: tuple[str, ...]  # in the project
    gates: frozenset[str]  # those that run them, by name


class Attempt(Frozen):
    """One attempt as pure data: it can be stored, sent to another machine, or created in a test."""

    run: str
    target: str
    number: int
    base: str  # the commit it starts from
    work: Work
    task: Task | None = None  # the task when the attempt began; None: the work is not a task
    gates: tuple[Gate, ...] = ()
    ui_gates: tuple[Gate, ...] = ()  # gates that need services and pages
    is_ui: bool = False  # whether services and pages are checked
    protect: tuple[str, ...] = ()  # globs of files that no agent may change
    acceptance: GivenTests | None = None  # the acceptance tests that the agent must make pass; None: it sees none
    model: str = ""  # from the command line: overrides the configured model
    agent: str = ""  # the agent that must do the executor's part, by its name; empty: the first one that can work
    commit_message: str = ""  # the commit's message if the agent made no commit
    blocking: frozenset[Severity] = frozenset()  # the review findings that send the work back
    max_rounds: int = 0  # how often a review may do that

    @property
    def label(self) -> str:
        """The prefix of its log files."""
        return f"{self.work.id}-{self.number}"

    def step(self, label: str) -> StepSpec:
        return self.work.step(label)


class StepResult(Frozen):
    """The result of one step; PASSED if the step succeeded."""

    step: str
    verdict: Verdict
    reason: str = ""
    claims: frozenset[str] = frozenset()
    learnings: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    said: str = ""  # the agent's own reason
    usage: Usage = field(default_factory=Usage)
    agent: str = ""  # the agent that was called, by its name in the configuration
    prompt: str = ""  # the sha256 of its last prompt
    gates: tuple[GateResult, ...] = ()
    findings: tuple[Finding, ...] | None = None  # a reviewer's findings; None: there was no review
    commit: str = ""
    summary: str = ""
    hooked_subject: str = ""  # the subject after the person's hooks
    trailers: tuple[str, ...] = ()  # lines that the hooks added to the message
    changed: bool = False  # whether it changed anything
    touched: tuple[str, ...] = ()  # the first few files it changed
    left_out: tuple[str, ...] = ()  # what is not part of the commit, each with the reason
    no_page: str = ""  # why no page was opened, although it is UI work
    verified_tree: str = ""  # the tree that the gates approved
    evidence: Evidence | None = None  # what shows that the work does what it should; None: not looked for
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without the work
    concerns: tuple[str, ...] = ()  # what the work may have weakened about the checks
    need: Need | None = None  # what a person must decide
    tester: str = ""  # the agent that wrote the acceptance tests
    retry_at: float | None = None
    final: bool = False  # a retry would have the same result
    fatal: bool = False  # nothing can succeed until a person fixes something


class Record(Frozen):
    """The progress of one attempt."""

    run: str
    target: str
    kind: WorkKind
    work: str
    number: int
    base: str  # the branch tip at its start
    branch: str
    began: float
    slot: int = 0
    agent_at_work: bool = False  # an agent was started, and its result is not recorded yet
    read_only: bool = False  # that agent must not change the project
    agent: str = ""  # the agent that must do the executor's part; empty: any
    rivals: tuple[int, ...] = ()  # the other attempts of its race
    steps: tuple[StepResult, ...] = ()

    def result_of(self, step: str) -> StepResult | None:
        return next((result for result in self.steps if result.step == step), None)

    @property
    def has_work(self) -> bool:
        """Whether an agent has finished and its work is kept, so that the attempt can resume from there."""
        return any(result.commit and result.verdict is not Verdict.INTERRUPTED for result in self.steps)

    def add(self, result: StepResult) -> Record:
        return replace(self, steps=(*self.steps, _as_text(result)), agent_at_work=False)


def _as_text(result: StepResult) -> StepResult:
    """Make the texts plain that people and agents read: programs and agents wrote them."""
    return replace(
        result,
        reason=plain(readable(result.reason)),
        said=plain(result.said),
        summary=_line(result.summary),
        hooked_subject=_line(result.hooked_subject),
        learnings=tuple(map(_line, result.learnings)),
        trailers=tuple(map(_line, result.trailers)),
        touched=tuple(map(_line, result.touched)),
        left_out=tuple(map(_line, result.left_out)),
    )


def _line(text: str) -> str:
    return text if text.isascii() and text.isprintable() else one_line(readable(text))


def counts_against(work: Work, result: StepResult) -> bool:
    """Return whether a step's result fails the attempt; `continue_on_error` never excuses decisive steps or gates."""
    spec = next((spec for spec in work.steps if spec.label == result.step), None)
    tolerated = spec is not None and spec.resilience.continue_on_error and spec.type not in DECISIVE
    is_red = any(gate.required and not gate.passed for gate in result.gates)
    forgiven = tolerated and result.verdict is Verdict.FAILED and not is_red
    return result.verdict is not Verdict.PASSED and not forgiven
