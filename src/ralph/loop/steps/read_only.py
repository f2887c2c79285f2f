"""What steps share whose agent changes nothing: it works in a checkout that is thrown away."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ralph.checkout.working_copy import Taken, WorkingCopy
from ralph.loop.protection import Violations
from ralph.loop.record import StepResult
from ralph.loop.site import Site
from ralph.loop.steps import base
from ralph.loop.steps.agent import AgentStep, Asking, Findings
from ralph.loop.steps.base import Context
from ralph.loop.worktrees import note_use

MEDDLED = "it changed the project, and was only to read it"


class ReadOnlyAgentStep(AgentStep):
    Settings: ClassVar[type[base.Settings]] = Asking
    may_claim = False
    only_looks = True

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

    async def _findings(self, context: Context, copy: WorkingCopy, taken: Taken, violations: Violations) -> Findings:
        meddled = (MEDDLED,) if taken.changes else ()
        return Findings(violations=(*violations.texts, *meddled), commit=taken.commit)


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
