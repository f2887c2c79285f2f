"""The events: one frozen class for each thing that can happen."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from ralph.journal.event import AttemptEvent as AttemptEvent
from ralph.journal.event import Event as Event
from ralph.journal.event import Unknown as Unknown
from ralph.plan.evidence import Evidence
from ralph.plan.model import Finding, GateResult, PageResult, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Verdict, WorkKind

STOPPED = "stopped"
"""How a call ended that Ralph itself ended early."""


class RunStarted(Event):
    run: str
    target: str
    workflow: str
    version: str
    tasks: int
    passed: int
    blocked: int
    branch: str
    slots: str
    agent: str
    gates: tuple[str, ...]
    model: str = ""
    jobs: int = 1  # tasks that run in parallel
    race: tuple[str, ...] = ()  # the agents that attempt each task at the same time
    config: str = ""  # the step configuration, if the workflow has one
    in_place: bool = False  # gates run in the agent's working copy, or did for a task that has passed
    accepted: int = 0  # tasks that a person accepted
    held: int = 0  # of the blocked tasks, those that wait for a person's approval
    follower: str = ""  # the person's own branch, if it is fast-forwarded at the end


class Noted(Event):
    """Information for the person that changes nothing."""

    text: str
    warning: bool = False
    work: str = ""  # the work it is about, if any
    attempt: int = 0


class SandboxChosen(Event):
    """What encloses the agents, gates, hooks and services of the run."""

    kind: str  # none: nothing does
    about: str = ""
    network: str = "full"  # whom agents may talk to
    wanted: str = ""  # what the configuration asks for


class HostRefused(Event):
    """A program in the sandbox wanted to talk to a host that the configuration does not name."""

    host: str
    setting: str = "sandbox.network"  # where it would have to be named


class BaselineStarted(Event):
    gates: tuple[str, ...]


class BaselineEnded(Event):
    red: tuple[str, ...]
    seconds: float


class AttemptStarted(AttemptEvent):
    kind: WorkKind
    title: str
    failures: int
    max_failures: int
    base: str
    resumed: bool = False
    agent: str = ""  # the agent that must do the work; empty: any agent that is free
    race: tuple[str, ...] = ()  # all agents of its race
    tasks: int = 0
    passed: int = 0
    accepted: int = 0


class StepStarted(AttemptEvent):
    step: str


class StepRetried(AttemptEvent):
    step: str
    reason: str
    delay: float


class BreakerChanged(Event):
    """A step's circuit breaker opened or closed."""

    step: str
    state: str
    failures: int
    until: float | None


class AgentStarted(AttemptEvent):
    command: str
    prompt_chars: int
    log: str  # the file with its whole output, complete when the call has ended
    words: str = ""  # the file with its transcript, line by line while it runs
    agent: str = ""  # its name in the configuration


class AgentSpoke(AttemptEvent):
    """A line of the agent's transcript, for live views."""

    kept: ClassVar[bool] = False
    text: str


class AgentEnded(AttemptEvent):
    how: str
    code: int
    seconds: float
    output_bytes: int
    claims: tuple[str, ...]
    usage: Usage


class Marked(AttemptEvent):
    """An agent marked its task in the plan: read as a claim, then restored."""

    claims: tuple[str, ...]


class Learned(AttemptEvent):
    text: str


class Undone(AttemptEvent):
    """Changes that an agent made to files that are not its own, and where its version is kept."""

    paths: tuple[str, ...]
    kept_in: str


class ServiceStarted(Event):
    service: str
    ready: str
    seconds: float


class GateStarted(AttemptEvent):
    work: str = ""  # empty: before any task
    attempt: int = 0
    gate: str
    command: str


class GateEnded(AttemptEvent):
    work: str = ""
    attempt: int = 0
    result: GateResult


class GateRepeated(AttemptEvent):
    """A gate was red, and runs again on the same files to find out whether it is flaky."""

    work: str = ""
    attempt: int = 0
    result: GateResult


class Confided(AttemptEvent):
    """Something for the person at the terminal that no file may contain: why a held-out gate failed."""

    kept: ClassVar[bool] = False
    work: str = ""
    attempt: int = 0
    text: str


class Audited(AttemptEvent):
    """The work changed tests or what the gates lead to."""

    failed: tuple[str, ...]  # the attempt fails because of these
    held: tuple[str, ...]  # a reviewer or a person must approve these
    told: tuple[str, ...]  # these are only reported


class EvidenceStarted(AttemptEvent):
    """Gates run on the base with the tests of the work, to find out whether any of them fails there."""

    tests: int  # files of tests that the work adds or changes


class EvidenceEnded(AttemptEvent):
    evidence: Evidence
    proven_by: tuple[str, ...]
    seconds: float


class AcceptanceReady(AttemptEvent):
    """The acceptance tests of a task can be used: they fail without its work."""

    files: tuple[str, ...]  # empty: they are held out
    red: tuple[str, ...]  # the tests, or else the gates, that fail without the work
    agent: str  # the tester
    is_new: bool  # false: they were written for an earlier attempt
    held_out: bool = False


class Ruled(AttemptEvent):
    """A reviewer has decided about acceptance tests that an agent disputes."""

    tests: str  # right or wrong
    reason: str


class Reviewed(AttemptEvent):
    """A reviewer has judged a task's work in a usable answer."""

    verdict: str  # qualified or failed
    summary: str
    findings: tuple[Finding, ...]
    rounds: int  # how often reviews sent it back before
    max_rounds: int


class PageChecked(AttemptEvent):
    """A page of a UI story was opened in a browser."""

    work: str = ""
    attempt: int = 0  # 0: before the first attempt, or a manual check
    result: PageResult


class AttemptEnded(AttemptEvent):
    kind: WorkKind
    verdict: Verdict
    reason: str
    base: str
    commit: str
    ref: str
    seconds: float
    usage: Usage = field(default_factory=Usage)
    agent: str = ""  # the agent that did the work, by its name in the configuration
    gates: tuple[GateResult, ...] = ()
    evidence: Evidence | None = None  # what shows that the work does what it should
    concerns: tuple[str, ...] = ()  # what the work may have weakened about the checks
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without the work
    reopened: tuple[str, ...] = ()
    tasks: int = 0  # the progress of the plan afterwards
    passed: int = 0
    accepted: int = 0
    no_page: str = ""  # why no page was opened, although it is UI work

    @property
    def counts(self) -> bool:
        """Whether it is one of the attempts that a budget allows: no planning, and no mere wait for an agent."""
        waited = self.verdict is Verdict.LIMITED or (self.verdict is Verdict.INTERRUPTED and not self.usage.calls)
        return not waited and self.kind is not WorkKind.PLAN


class TaskBlocked(AttemptEvent):
    reason: str
    ref: str
    need: str = ""  # the kind of decision that a person must make; empty: none
    gate: str = ""  # the gate that it is about


class Coupled(AttemptEvent):
    """Its gates run on its work together with what lands before it, which is verified at the same time."""

    ahead: tuple[str, ...]  # the tasks that have not landed yet
    again: bool = False  # work ahead of it dropped out after its gates had begun


class Landed(AttemptEvent):
    """An attempt's work has landed on the branch."""

    commit: str


class SpecClosed(AttemptEvent):
    """All tasks of a spec are settled, and what passed is committed."""

    title: str
    state: TaskState
    tasks: int
    passed: int
    commit: str


class Waited(Event):
    """The run waits for a usage limit to reset, or backs off."""

    reason: str
    seconds: float
    agent: str = ""  # the agent that is limited; empty: a step's circuit breaker is open
    until: float = 0.0  # in seconds since 1970


class Steered(Event):
    """What became of something that a person asked of the run with another command."""

    command: str  # pause, resume, stop, skip, retry, note, edit, accept or decide
    tasks: tuple[str, ...] = ()
    now: bool = False
    text: str  # what became of it
    note: str = ""  # the person's own words
    by: str = ""
    refused: bool = False
    instruction: str  # its id; after a kill, two runs can acknowledge the same


class RunEnded(Event):
    run: str
    target: str
    workflow: str
    ending: Ending
    reason: str
    seconds: float
    tasks: int
    passed: int
    blocked: int
    attempts: int
    verified: bool
    gates: int  # required ones
    optional: int = 0  # those that only warn
    in_place: bool = False  # gates ran in the agent's working copy, in this run or for a task that passed before
    accepted: int = 0  # tasks that a person accepted
    held: int = 0  # of the blocked tasks, those that wait for a person's approval
    needs: int = 0  # tasks that wait for a person's decision
    proven: int = 0  # tasks with a test or a gate that fails without them
    unrecorded: int = 0  # passed tasks of an earlier run whose files do not say how they passed, as in a session
    unverified: str = ""  # why passed work is not verified; empty: required gates decided
    is_error: bool = False  # an error ended it, and its message follows
    usage: Usage
    total: Usage = field(default_factory=Usage)  # of all runs of this plan together


EVENTS: dict[str, type[Event]] = {
    cls.name(): cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Event) and cls not in (Event, AttemptEvent, Unknown)
}
"""Every event by its name in a journal."""
