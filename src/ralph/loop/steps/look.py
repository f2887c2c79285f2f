"""The look step: what the pages of UI work show before anybody has worked on it, to compare. It decides nothing."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.journal.events import Noted
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step
from ralph.verify.pages import look_at
from ralph.verify.services import ServiceFailure


class LookStep(Step):
    offered = False
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        """Before a retry it is what the attempt before left; in a slot there are no services to look at."""
        is_first = context.record.number == 1 and not context.site.slot
        ui = context.run.ui_work(context.task, context.work.id, 0) if is_first else None
        if ui and ui.look:
            try:
                await ui.services.prepare()
                await look_at(ui.look, ui.services.url)
            except (ServiceFailure, RalphError) as error:
                said = str(error).split("\n", 1)[0]
                context.run.emit(Noted(text=f"There is nothing to look at before the first attempt: {said}"))
        return self.passed()
