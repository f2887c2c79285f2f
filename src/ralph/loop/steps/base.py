"""What a step is: given an attempt's context, it does one thing and says what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from ralph.loop.record import Record, StepResult
from ralph.loop.run import Run
from ralph.plan.model import Task
from ralph.plan.work import StepSpec, Verdict, Work


@dataclass(frozen=True, kw_only=True)
class Context:
    """An attempt as its steps see it."""

    run: Run
    work: Work
    record: Record

    @property
    def task(self) -> Task | None:
        return self.run.plan.find(self.work.id)

    @property
    def label(self) -> str:
        return f"{self.work.id}-{self.record.number}"

    def after(self, record: Record) -> Context:
        return replace(self, record=record)


class Step(ABC):
    """One part of an attempt."""

    repeatable = False  # doing it again after a crash changes nothing, so its end need not be written down

    def __init__(self, spec: StepSpec) -> None:
        self.spec = spec

    @abstractmethod
    async def run(self, context: Context) -> StepResult: ...

    def passed(self) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.PASSED)

    def failed(self, reason: str) -> StepResult:
        return StepResult(step=self.spec.label, verdict=Verdict.FAILED, reason=reason)
