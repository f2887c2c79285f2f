"""The role step: an agent that writes its own files and only reads the project; its contract is then checked."""

from __future__ import annotations

from ralph.agent.call import AgentResult
from ralph.plan.work import Verdict, Work
from ralph.steps.agent import Inspection
from ralph.steps.base import Context
from ralph.steps.read_only_agent import ReadOnlyAgentStep


class RoleStep(ReadOnlyAgentStep):
    offered = False

    def role(self, work: Work) -> str:
        return self.spec.name or work.role

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    def _accept(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        return Verdict.PASSED, ""
