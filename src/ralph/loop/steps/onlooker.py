"""What steps share whose agent is only to look: nothing that it leaves is work, and no mark of it counts."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ralph.loop.place import Changes, Place
from ralph.loop.steps import base
from ralph.loop.steps.agent import AgentStep, Asking
from ralph.loop.steps.base import Context
from ralph.plan.work import StepSpec

MEDDLED = "it changed the project, and was only to look at it"


class OnlookerStep(AgentStep):
    Settings: ClassVar[type[base.Settings]] = Asking
    may_claim = False
    only_looks = True

    def __init__(self, spec: StepSpec) -> None:
        super().__init__(spec)
        self.shown = ""  # the project as the agent was given it
        self._undone = False  # whether its last call had changed that

    async def show(self, context: Context, place: Place) -> None:
        """Remember what it is given: whatever it changes goes back to that, also if we are killed."""
        self.shown = await place.freeze(f"{context.work.id}: before somebody looked at it")
        context.run.note(replace(context.record, agent_at_work=True, only_looks=True, shown=self.shown))

    async def _keep(self, context: Context, place: Place, changes: Changes) -> str:
        """What is kept as the attempt's is what it was given."""
        kept = await place.undo_since(self.shown, changes) if self.shown else changes
        self._undone = kept is not changes
        return await super()._keep(context, place, kept)

    async def _meddled(self, context: Context, place: Place, changes: Changes, commit: str) -> tuple[str, ...]:
        return (MEDDLED,) if self._undone else ()

    async def _has_work(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return True

    async def _moved(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return False
