"""The last look at a whole feature: an agent says VERIFIED, or RESET and which stories. It cannot pass a red gate."""

from __future__ import annotations

from ralph.agent.call import Heard
from ralph.loop.place import Changes, Place
from ralph.loop.steps.agent import Findings
from ralph.loop.steps.base import Context
from ralph.loop.steps.onlooker import MEDDLED, OnlookerStep
from ralph.plan.work import Verdict, Work


class FinalReviewStep(OnlookerStep):
    offered = False

    def role(self, work: Work) -> str:
        return "verifier"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset({"VERIFIED", "RESET"})

    async def _meddled(self, context: Context, place: Place, changes: Changes, commit: str) -> tuple[str, ...]:
        if not changes.any:
            return ()
        message = f"chore: undo what {context.work.id} changed"
        await place.restore(context.record.base, message, context.record.target)
        return (MEDDLED,)

    def _accept(self, context: Context, heard: Heard, findings: Findings) -> tuple[Verdict, str]:
        """What it said is judged with the plan: a RESET names stories."""
        return Verdict.PASSED, ""
