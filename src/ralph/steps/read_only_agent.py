"""The base class of steps with a read-only agent, which works in a disposable checkout."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ralph.checkout.copy_own_files import copy_own_files
from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.plan.attempt import StepResult
from ralph.protect.protection import Violations
from ralph.steps import base
from ralph.steps.agent import AgentStep, Inspection
from ralph.steps.agent_settings import CallSettings
from ralph.steps.base import Context

CHANGED_PROJECT = "it changed the project, but may only read it"


class ReadOnlyAgentStep(AgentStep):
    Settings: ClassVar[type[base.StepSettings]] = CallSettings
    may_claim = False
    read_only = True

    async def run(self, context: Context) -> StepResult:
        """Show the agent the attempt's work in a copy of its own; bring back only the files that it may write."""
        if context.copy is None:
            return await super().run(context)
        shown = await context.work_commit()
        host = await context.host.reading_host(shown, context.work.writable)
        assert host.copy
        elsewhere = replace(context, host=host, attempt=replace(context.attempt, base=shown))
        result = await super().run(elsewhere)
        copy_own_files(host.copy, context.copy, context.work.writable)
        if result.commit:
            result = replace(result, commit=await self._kept(context, shown))
        return result

    async def _kept(self, context: Context, shown: str) -> str:
        """Return the attempt's work: the commit that the agent saw, with the files that it may write."""
        assert context.copy
        if not context.work.writable:
            return shown
        return (await self._take(context, context.copy)).commit

    async def _findings(
        self, context: Context, copy: WorkingCopy, taken: TakenWork, violations: Violations
    ) -> Inspection:
        changed = (CHANGED_PROJECT,) if taken.changes else ()
        return Inspection(violations=(*violations.texts, *changed), commit=taken.commit)
