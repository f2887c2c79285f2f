"""The role step: an agent that writes files of its own, and only reads the project. Its contract judges it."""

from __future__ import annotations

from ralph.agent.call import Heard
from ralph.loop.steps.agent import Findings
from ralph.loop.steps.base import Context
from ralph.loop.steps.read_only import ReadOnlyAgentStep
from ralph.plan.work import Verdict, Work


class RoleStep(ReadOnlyAgentStep):
    offered = False

    def role(self, work: Work) -> str:
        return self.spec.name or work.role

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    def _accept(self, context: Context, heard: Heard, findings: Findings) -> tuple[Verdict, str]:
        return Verdict.PASSED, ""
