"""The noop step: does nothing, for trying out a pipeline."""

from __future__ import annotations

from ralph.plan.attempt import StepResult
from ralph.steps.base import Context, Step


class NoopStep(Step):
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        return self.passed()
