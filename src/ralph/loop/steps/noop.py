"""The noop step: does nothing, to try a pipeline."""

from __future__ import annotations

from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step


class NoopStep(Step):
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        return self.passed()
