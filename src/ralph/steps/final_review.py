"""The final review of a feature: an agent says VERIFIED, or RESET with the stories. It cannot pass a red gate."""

from __future__ import annotations

from ralph.agent.call import AgentResult
from ralph.plan.work import Verdict, Work
from ralph.steps.agent import Inspection
from ralph.steps.base import Context
from ralph.steps.read_only_agent import ReadOnlyAgentStep


class FinalReviewStep(ReadOnlyAgentStep):
    offered = False

    def role(self, work: Work) -> str:
        return "verifier"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset({"VERIFIED", "RESET"})

    def _accept(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        """Accept the call here; `engine/verdict.py` judges the claims with the plan."""
        return Verdict.PASSED, ""
