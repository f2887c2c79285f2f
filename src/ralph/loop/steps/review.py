"""The review step: an agent that only looks, and says VERIFIED or sends the work back. It cannot pass a red gate."""

from __future__ import annotations

from typing import ClassVar

from ralph.agent.call import Heard
from ralph.loop.place import Changes, Place
from ralph.loop.record import StepResult
from ralph.loop.steps import base
from ralph.loop.steps.agent import AgentStep, Asking, Findings
from ralph.loop.steps.base import Context
from ralph.plan.work import Kind, StepSpec, Verdict, Work


class ReviewStep(AgentStep):
    Settings: ClassVar[type[base.Settings]] = Asking
    may_claim = False
    only_looks = True

    def __init__(self, spec: StepSpec) -> None:
        super().__init__(spec)
        self._before = ""  # the project as the reviewer finds it

    def role(self, work: Work) -> str:
        return "verifier"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset({"VERIFIED", "RESET"})

    async def run(self, context: Context) -> StepResult:
        if context.place and context.work.kind is not Kind.REVIEW:
            self._before = context.record.before
        return await super().run(context)

    async def _meddled(self, context: Context, place: Place, changes: Changes, commit: str) -> tuple[str, ...]:
        if not self._before:
            if not changes.any:
                return ()
            message = f"chore: undo what {context.work.id} changed"
            await place.restore(context.record.base, message, context.record.target)
        elif not await place.put_back(self._before, commit):
            return ()
        elif changes.left:  # what was kept a moment ago is not what is here now
            place.remember_left(place.left(context.record.target, self._before, changes.head))
        return ("it changed the project, and was only to look at it",)

    async def _has_work(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return True

    async def _moved(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return False

    def _accept(self, context: Context, heard: Heard, findings: Findings) -> tuple[Verdict, str]:
        """The final review's RESET names tasks and is judged with the plan; a task's own sends that task back."""
        if context.work.kind is not Kind.REVIEW and "RESET" in heard.claims:
            return Verdict.FAILED, f"The reviewer sent it back: {heard.reason or 'it gave no reason'}"
        return Verdict.PASSED, ""
