"""The verify step: the project's gates, and for UI work its services and pages. Only this makes a task pass."""

from __future__ import annotations

from dataclasses import replace

from ralph.journal.events import Noted
from ralph.loop.protection import Protection
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step
from ralph.plan.model import GateResult
from ralph.plan.work import Kind
from ralph.verify.suite import check


class VerifyStep(Step):
    async def run(self, context: Context) -> StepResult:
        run, workflow = context.run, context.run.workflow
        known = await self._known(context) if context.work.kind is Kind.FINISH else None
        if known is not None:
            return replace(self.passed(), gates=known)
        task = context.task if context.work.kind is Kind.TASK else None
        undone = run.logs / f"{context.label}-undone-by-gates"
        async with Protection.around(run, context.site, context.work, context.record.base, undone) as protection:
            ui = None if context.site.slot else run.ui_work(task, context.work.id, context.record.number)
            checked = await check(workflow.gates(task), context.bench(), ui)  # in a slot: where it lands
        if context.place:
            context.place.seen = False  # what gates leave behind is not an agent's
        if not checked.results and not checked.pages and not checked.problem:
            run.emit(Noted(text="No gates are configured: this is unverified.", warning=True))
        reason = "\n\n".join(filter(None, (protection.wrongs.reason("A gate"), checked.reason)))
        return replace(self.failed(reason) if reason else self.passed(), gates=checked.results)

    async def _known(self, context: Context) -> tuple[GateResult, ...] | None:
        """What the gates said of these very files; None if nobody has asked them all."""
        place, workflow = context.place, context.run.workflow
        if workflow.is_ui(context.run.plan, None):
            return None
        assert place is not None, "work that is committed has a place"
        now = await place.freeze(f"{context.work.id}: before its commit")
        return context.run.green.get(await place.repo.tree_of(now))
