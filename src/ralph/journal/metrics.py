"""Adds up what a run used and did, from its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ralph.journal.events import AgentEnded, AttemptEnded, Event
from ralph.plan.usage import Usage
from ralph.plan.work import WorkKind


@dataclass
class Metrics:
    """Listens to a journal and counts."""

    attempts: int = 0
    usage: Usage = field(default_factory=Usage)

    def __call__(self, event: Event, _line: str = "") -> None:
        match event:
            case AttemptEnded() if event.kind is not WorkKind.FINISH:
                self.attempts += 1
            case AgentEnded():
                self.usage += event.usage
