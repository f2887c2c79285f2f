"""The verify step: the project's gates, and for UI work its services and pages. Only this makes a task pass."""

from __future__ import annotations

from dataclasses import replace

from ralph.journal.events import Noted
from ralph.loop.protection import Protection
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step
from ralph.plan.work import Kind
from ralph.verify.suite import check


class VerifyStep(Step):
    async def run(self, context: Context) -> StepResult:
        run, workflow = context.run, context.run.workflow
        task = context.task if context.work.kind is Kind.TASK else None
        undone = run.logs / f"{context.label}-undone-by-gates"
        async with Protection.around(run, context.work, context.record.base, undone) as protection:
            checked = await check(
                workflow.gates(task),
                workflow.ui_gates(task),
                run.services,
                run.bench(context.label),
                is_ui=workflow.is_ui(run.plan, task),
            )
        if run.place:
            run.place.seen = False  # what gates leave behind is not an agent's
        if not checked.results and not checked.problem:
            run.emit(Noted(text="No gates are configured: this is unverified.", warning=True))
        reason = "\n\n".join(filter(None, (protection.wrongs.reason("A gate"), checked.reason)))
        return replace(self.failed(reason) if reason else self.passed(), gates=checked.results)
