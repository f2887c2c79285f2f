"""The base class of steps: a step does one thing in the context of an attempt and returns the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from ralph.checkout.working_copy import WorkingCopy
from ralph.config import NamedProvider
from ralph.frozen import Frozen
from ralph.journal.events import Noted
from ralph.plan.attempt import Attempt, Record, StepResult
from ralph.plan.model import Task
from ralph.plan.work import StepSpec, Verdict, Work
from ralph.steps.host import Host

EXECUTOR = "executor"
"""The role that does the work of a task."""


class Context(Frozen):
    """An attempt as its steps see it."""

    attempt: Attempt
    host: Host
    record: Record
    turn: int = 1  # the number of this try of the step
    call: int = 1  # the number of this call in the attempt; waiting for a limit adds calls, but no tries
    mistakes: str = ""  # why the last try was not accepted

    @property
    def copy(self) -> WorkingCopy | None:
        """The working copy in which the agent works; None if nothing is built."""
        return self.host.copy

    @property
    def cwd(self) -> Path:
        """The folder in which the agent works."""
        return self.host.cwd

    @property
    def work(self) -> Work:
        return self.attempt.work

    @property
    def base(self) -> str:
        """The commit on which the attempt began."""
        return self.attempt.base

    def agents(self, role: str) -> tuple[NamedProvider, ...]:
        """Return the agents that can play a role, in order; an attempt of a race has one that does the work."""
        config, racer = self.host.config, self.attempt.agent
        return (config.executor(racer),) if racer and role == EXECUTOR else config.agents_for(role)

    async def work_commit(self) -> str:
        """Return the attempt's work as a commit; create a new one if a later step may have changed the files."""
        last = self.record.steps[-1] if self.record.steps else None
        if last and last.commit:
            return last.commit
        if self.copy is None or (not self.record.steps and self.copy.start == self.base):
            return self.base
        own = self.copy.own
        message = f"{self.work.id}, attempt {self.attempt.number}"
        taken = await self.copy.take(self.base, message, also=map(own.name, self.work.writable))
        return taken.commit

    @property
    def task(self) -> Task | None:
        return self.attempt.task

    @property
    def label(self) -> str:
        return self.attempt.label

    def note(self, text: str, *, warning: bool = False) -> None:
        """Emit a note about this attempt for the person."""
        self.host.emit(Noted(text=text, warning=warning, work=self.work.id, attempt=self.attempt.number))

    def after(self, record: Record) -> Context:
        return replace(self, record=record)

    def at_try(self, turn: int, mistakes: str, call: int) -> Context:
        return replace(self, turn=turn, mistakes=mistakes, call=call)


class StepSettings(BaseModel):
    """What a person may configure about a step: snake_case keys, nothing unknown."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


S = TypeVar("S", bound=StepSettings)


class Step(ABC):
    """One part of an attempt."""

    Settings: ClassVar[type[StepSettings]] = StepSettings  # the model for `config` in a step configuration
    repeatable = False  # running it again after a crash is harmless, so its result need not be recorded
    runs_agent = False  # it runs an agent on the project
    read_only = False  # its agent must not change anything there
    prepares = False  # later steps need the attempt as it is after this one
    max_retries: ClassVar[int] = 0  # if a step configuration names no number
    offered = True  # a step configuration may name it

    def __init__(self, spec: StepSpec) -> None:
        self.spec = spec

    def settings(self, model: type[S]) -> S:
        """Return the configured settings, or the defaults."""
        given = self.spec.settings
        return given if isinstance(given, model) else model()

    def role(self, work: Work) -> str:
        """Return the role that its agent plays; "" if it calls none."""
        return ""

    @abstractmethod
    async def run(self, context: Context) -> StepResult: ...

    def passed(self) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.PASSED)

    def failed(self, reason: str) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.FAILED, reason=reason)
