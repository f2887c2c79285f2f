"""The screenshot step: captures the pages of UI work before an agent changes them. It decides nothing."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.plan.attempt import StepResult
from ralph.steps.base import Context, Step
from ralph.verify.services import ServiceFailure


class ScreenshotStep(Step):
    offered = False
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        """Skip retries, which show earlier work, and parallel runs, whose checks need the services."""
        if context.attempt.number == 1 and not context.host.shares_services:
            try:
                await context.host.screenshots(context.attempt)
            except (ServiceFailure, RalphError) as error:
                said = str(error).split("\n", 1)[0]
                context.note(f"Ralph took no screenshots before the first attempt: {said}")
        return self.passed()
