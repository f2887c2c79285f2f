"""The verify step: the project's gates, on a clean checkout of the attempt's commit. Only this makes a task pass."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from ralph.engine.record import StepResult
from ralph.engine.verification import IN_PLACE
from ralph.engine.worktree_pool import set_aside
from ralph.plan.work import WorkKind
from ralph.protect.protection import Protection
from ralph.steps.base import Context, Step
from ralph.verify.suite import SuiteResult
from ralph.verify.urls import why_unseen


class VerifyStep(Step):
    async def run(self, context: Context) -> StepResult:
        run = context.run
        commit = await context.work_commit()
        assert run.branch, "what is verified is on a branch"
        tree = await run.branch.repo.tree_of(commit)
        is_finish = context.work.kind is WorkKind.FINISH and not run.workflow.is_ui(run.plan, None)
        known = run.verified.get(tree) if is_finish else None
        if known is not None:
            return replace(self.passed(), gates=known, commit=commit, verified_tree=tree)
        undone = run.logs / f"{context.label}-undone-by-gates"
        async with Protection.around(run, context.site, context.work, undone) as protection:
            checked = await self._check(context, commit)
        if not checked.results and not checked.pages and not checked.problem:
            context.note("No gates are configured: this is unverified.", warning=True)
        no_page = self._say_unseen(context)
        reason = "\n\n".join(filter(None, (protection.violations.reason("A gate"), checked.reason)))
        if reason:
            left_out = next((result.left_out for result in reversed(context.record.steps) if result.left_out), ())
            hint = (
                f"\n\nNot part of the commit, so the gates did not see it: {', '.join(left_out)}." if left_out else ""
            )
            return replace(self.failed(reason + hint), gates=checked.results, commit=commit, no_page=no_page)
        return replace(self.passed(), gates=checked.results, commit=commit, verified_tree=tree, no_page=no_page)

    def _say_unseen(self, context: Context) -> str:
        run, task = context.run, context.task if context.work.kind is WorkKind.TASK else None
        why = why_unseen(task.criteria, run.config) if task and run.workflow.is_ui(run.plan, task) else ""
        if why:
            context.note(f"{context.work.id} is a UI story, and no page was looked at: {why}.", warning=True)
        return why

    async def _check(self, context: Context, commit: str) -> SuiteResult:
        run, work = context.run, context.work
        task = context.task if work.kind is WorkKind.TASK else None
        gates = run.workflow.gates(task)
        number, site = context.record.number, context.site
        with (
            nullcontext() if run.config.verify.where == IN_PLACE or not context.copy else set_aside(context.copy.folder)
        ):
            return await run.verifier.check(
                commit, gates, context.label, work=work.id, attempt=number, task=task, ui=number, site=site
            )
