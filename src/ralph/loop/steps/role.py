"""The role step: an agent that writes files of its own, and only looks at the project. Its contract judges it."""

from __future__ import annotations

from ralph.agent.call import Heard
from ralph.loop.record import StepResult
from ralph.loop.steps.agent import Findings
from ralph.loop.steps.base import Context
from ralph.loop.steps.onlooker import OnlookerStep
from ralph.plan.work import Verdict, Work


class RoleStep(OnlookerStep):
    offered = False

    def role(self, work: Work) -> str:
        return self.spec.name or work.role

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    async def run(self, context: Context) -> StepResult:
        if context.place:
            await self.show(context, context.place)
        return await super().run(context)

    def _accept(self, context: Context, heard: Heard, findings: Findings) -> tuple[Verdict, str]:
        return Verdict.PASSED, ""
