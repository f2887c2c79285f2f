"""What agents have marked in a plan that they share, noted before Ralph writes or restores the file.

Agents in parallel share the plan's file if the application is a repository of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ralph.engine.workflow import Workflow
from ralph.plan.model import Plan
from ralph.plan.work import Work


@dataclass
class Marks:
    """The running work, and the version of the plan in which its agent had marked it."""

    at_work: dict[str, Work] = field(default_factory=dict)
    _found: dict[str, bytes] = field(default_factory=dict)

    def begin(self, work: Work) -> None:
        self.at_work[work.id] = work
        self._found.pop(work.id, None)

    def end(self, work: Work) -> None:
        self.at_work.pop(work.id, None)

    def note(self, workflow: Workflow, plan: Plan, data: bytes | None) -> None:
        """Note the marks in a version of the plan that is about to be replaced."""
        for work in self.at_work.values() if data else ():
            if data and work.claimable and workflow.claimed(plan, work, data).claims:
                self._found[work.id] = data

    def take(self, work: Work) -> bytes | None:
        return self._found.pop(work.id, None)
