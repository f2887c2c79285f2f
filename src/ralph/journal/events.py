"""The events: one frozen class for each thing that can happen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum

from ralph.plan.model import Finding, GateResult, PageResult, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Kind, Verdict


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened; `kept` events go into the journal, the others only to views."""

    @classmethod
    def name(cls) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def kept(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    run: str
    target: str
    workflow: str
    version: str
    tasks: int
    passed: int
    blocked: int
    branch: str
    place: str
    agent: str
    gates: tuple[str, ...]
    model: str = ""
    jobs: int = 1  # tasks that are done at the same time
    config: str = ""  # the step configuration, where the workflow has one
    in_place: bool = False  # gates run where the agent works, or did for a task that has passed
    follower: str = ""  # the person's own branch, where it is fast-forwarded at the end


@dataclass(frozen=True, kw_only=True)
class Noted(Event):
    """Something a person should know that changes nothing."""

    text: str
    warning: bool = False


@dataclass(frozen=True, kw_only=True)
class BaselineStarted(Event):
    gates: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class BaselineEnded(Event):
    red: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class AttemptStarted(Event):
    target: str
    work: str
    kind: Kind
    title: str
    number: int
    failures: int
    max_failures: int
    base: str
    resumed: bool = False
    tasks: int = 0
    passed: int = 0


@dataclass(frozen=True, kw_only=True)
class StepStarted(Event):
    work: str
    number: int
    step: str


@dataclass(frozen=True, kw_only=True)
class StepRetried(Event):
    work: str
    step: str
    reason: str
    delay: float


@dataclass(frozen=True, kw_only=True)
class BreakerChanged(Event):
    """A step's circuit breaker opened or closed."""

    step: str
    state: str
    failures: int
    until: float | None


@dataclass(frozen=True, kw_only=True)
class AgentStarted(Event):
    work: str
    number: int
    command: str
    prompt_chars: int
    log: str


@dataclass(frozen=True, kw_only=True)
class AgentSpoke(Event):
    """A line the agent said, for whoever watches."""

    work: str
    text: str

    @property
    def kept(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class AgentEnded(Event):
    work: str
    number: int
    how: str
    code: int
    seconds: float
    output_bytes: int
    claims: tuple[str, ...]
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class Marked(Event):
    """An agent marked its task in the plan: read as a claim, and put back."""

    work: str
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Learned(Event):
    work: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Undone(Event):
    """What an agent did to files that are not its own, and where its version was put."""

    work: str
    number: int
    paths: tuple[str, ...]
    kept_in: str


@dataclass(frozen=True, kw_only=True)
class ServiceStarted(Event):
    service: str
    ready: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class GateStarted(Event):
    work: str = ""  # empty: before any task
    gate: str
    command: str


@dataclass(frozen=True, kw_only=True)
class GateEnded(Event):
    work: str = ""
    result: GateResult


@dataclass(frozen=True, kw_only=True)
class Reviewed(Event):
    """A reviewer has judged a task's work, in an answer that can be used."""

    target: str
    work: str
    number: int
    verdict: str  # qualified or failed
    summary: str
    findings: tuple[Finding, ...]
    rounds: int  # how often reviews sent it back before
    max_rounds: int


@dataclass(frozen=True, kw_only=True)
class PageChecked(Event):
    """A page of a UI story was opened in a browser."""

    work: str = ""
    number: int = 0  # of the attempt; 0: before the first one, or by hand
    result: PageResult


@dataclass(frozen=True, kw_only=True)
class AttemptEnded(Event):
    target: str
    work: str
    kind: Kind
    number: int
    verdict: Verdict
    reason: str
    base: str
    commit: str
    ref: str
    seconds: float
    usage: Usage = field(default_factory=Usage)
    gates: tuple[GateResult, ...] = ()
    reopened: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaskBlocked(Event):
    work: str
    reason: str
    ref: str


@dataclass(frozen=True, kw_only=True)
class Landed(Event):
    """Work that was done side by side with other work has come onto the branch."""

    work: str
    number: int
    commit: str


@dataclass(frozen=True, kw_only=True)
class SpecClosed(Event):
    """All tasks of a spec are settled, and what passed is committed."""

    work: str
    title: str
    state: TaskState
    tasks: int
    passed: int
    commit: str


@dataclass(frozen=True, kw_only=True)
class Waited(Event):
    """A usage limit: the run waits."""

    reason: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
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
    gates: int  # those that are required
    optional: int = 0  # those that only warn
    in_place: bool = False  # gates ran where the agent worked, in this run or for a task that passed before
    usage: Usage


def to_json(value: object, clean: Callable[[str], str] = str) -> object:
    """Events as plain JSON values, with every text cleaned."""
    match value:
        case Enum():
            return value.value
        case str():
            return clean(value)
        case dict():
            return {key: to_json(item, clean) for key, item in value.items()}
        case list() | tuple():
            return [to_json(item, clean) for item in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {name.name: to_json(getattr(value, name.name), clean) for name in fields(value)}
        case _:
            return value
