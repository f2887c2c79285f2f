"""What steps share whose agent changes nothing: it works in a checkout that is thrown away."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.checkout.worktrees import note_use
from ralph.engine.record import StepResult
from ralph.engine.site import Site
from ralph.protect.protection import Violations
from ralph.steps import base
from ralph.steps.agent import AgentStep, CallSettings, Inspection
from ralph.steps.base import Context

CHANGED_PROJECT = "it changed the project, and was only to read it"


class ReadOnlyAgentStep(AgentStep):
    Settings: ClassVar[type[base.StepSettings]] = CallSettings
    may_claim = False
    read_only = True

    async def run(self, context: Context) -> StepResult:
        """Show it the attempt's work in a copy of its own; only what it may write comes back."""
        if context.copy is None:
            return await super().run(context)
        shown = await context.work_commit()
        site = await self._copy(context, context.copy, shown)
        assert site.copy
        elsewhere = replace(context, site=site, record=replace(context.record, base=shown))
        result = await super().run(elsewhere)
        _bring(site.copy, context.copy, context.work.writable)
        if result.commit:
            result = replace(result, commit=await self._kept(context, shown))
        return result

    async def _kept(self, context: Context, shown: str) -> str:
        """The attempt's work is what the agent was shown, with what it may write."""
        assert context.copy
        if not context.work.writable:
            return shown
        return (await self._take(context, context.copy)).commit

    async def _copy(self, context: Context, working: WorkingCopy, shown: str) -> Site:
        run, number = context.run, context.site.slot
        copy = run.working_copy(run.workspace.review_copies / str(number))
        note_use(copy.folder, run.plan.target, copy.repo)
        await run.reset(copy, shown)
        provided = await run.provide(copy)
        await copy.clean()
        await run.restore_provided(copy)
        _bring(working, copy, context.work.writable)
        variables = {**context.site.variables, "RALPH_WORKTREE": str(copy.folder), **provided}
        return Site(folder=context.site.folder, copy=copy, variables=variables, slot=number)

    async def _findings(
        self, context: Context, copy: WorkingCopy, taken: TakenWork, violations: Violations
    ) -> Inspection:
        meddled = (CHANGED_PROJECT,) if taken.changes else ()
        return Inspection(violations=(*violations.texts, *meddled), commit=taken.commit)


def _bring(source: WorkingCopy, target: WorkingCopy, paths: tuple[str, ...]) -> None:
    """What a call may write, from one copy to the other."""
    for path in paths if source.own.held else ():
        ours, theirs = source.project / path, target.project / path
        if ours.is_file() and not ours.is_symlink():
            theirs.parent.mkdir(parents=True, exist_ok=True)
            theirs.unlink(missing_ok=True)
            theirs.write_bytes(ours.read_bytes())
        elif theirs.is_file():
            theirs.unlink()
