"""What a step is: given an attempt's context, it does one thing and says what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from ralph.loop.place import Place
from ralph.loop.record import Record, StepResult
from ralph.loop.run import Run
from ralph.loop.site import Site
from ralph.plan.model import Task
from ralph.plan.work import StepSpec, Verdict, Work
from ralph.verify.gates import Bench


@dataclass(frozen=True, kw_only=True)
class Context:
    """An attempt as its steps see it."""

    run: Run
    site: Site
    work: Work
    record: Record
    turn: int = 1  # which try of the step this is
    mistakes: str = ""  # why its last try was not accepted

    @property
    def place(self) -> Place | None:
        return self.site.place

    @property
    def cwd(self) -> Path:
        """Where the work is done."""
        return self.site.cwd

    def bench(self, label: str = "") -> Bench:
        """Where gates are run, under a name for their logs."""
        return self.run.bench(self.site, label or self.label, self.work.id)

    @property
    def task(self) -> Task | None:
        return self.run.plan.find(self.work.id)

    @property
    def label(self) -> str:
        return f"{self.work.id}-{self.record.number}"

    def after(self, record: Record) -> Context:
        return replace(self, record=record)

    def at_try(self, turn: int, mistakes: str) -> Context:
        return replace(self, turn=turn, mistakes=mistakes)


class Settings(BaseModel):
    """What a person may configure about a step: snake_case keys, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Settings)


class Step(ABC):
    """One part of an attempt."""

    Settings: ClassVar[type[Settings]] = Settings  # what `config` may hold in a step configuration
    repeatable = False  # doing it again after a crash changes nothing, so its end need not be written down
    runs_agent = False  # it lets an agent loose on the project
    only_looks = False  # what that agent changes is undone
    offered = True  # a step configuration may name it

    def __init__(self, spec: StepSpec) -> None:
        self.spec = spec

    def settings(self, model: type[S]) -> S:
        """What was configured, or the defaults."""
        given = self.spec.settings
        return given if isinstance(given, model) else model()

    @abstractmethod
    async def run(self, context: Context) -> StepResult: ...

    def passed(self) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.PASSED)

    def failed(self, reason: str) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.FAILED, reason=reason)
