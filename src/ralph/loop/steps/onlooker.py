"""What steps share whose agent is only to look: nothing that it leaves is work, and no mark of it counts."""

from __future__ import annotations

from typing import ClassVar

from ralph.loop.place import Changes, Place
from ralph.loop.steps import base
from ralph.loop.steps.agent import AgentStep, Asking
from ralph.loop.steps.base import Context

MEDDLED = "it changed the project, and was only to look at it"


class OnlookerStep(AgentStep):
    Settings: ClassVar[type[base.Settings]] = Asking
    may_claim = False

    async def _has_work(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return True

    async def _moved(self, context: Context, place: Place, changes: Changes, commit: str) -> bool:
        return False
