"""What every dialect's reader reports about a call, whatever the agent's output format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum

from ralph.agent.speech import Speech
from ralph.plan.usage import Usage


class Trouble(Enum):
    """A problem that kept an agent from working and that is not the task's fault."""

    NONE = "none"
    LIMIT = "limit"  # a usage or rate limit: wait
    OVERLOAD = "overload"  # the service or the network: back off
    UNUSABLE = "unusable"  # no login, no credit, no such model: a person must fix it
    ERROR = "error"  # the agent says that its own run failed


@dataclass(frozen=True, kw_only=True)
class DialectReport:
    """What the agent's output says about the call itself."""

    trouble: Trouble = Trouble.NONE
    message: str = ""
    retry_at: float | None = None
    usage: Usage = field(default_factory=lambda: Usage(calls=1, unpriced=1))


class Reader(ABC):
    """Turns an agent's standard output into speech and a report."""

    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self.finished = False  # the agent has said its last word

    @abstractmethod
    def feed(self, data: bytes) -> None: ...

    def close(self) -> DialectReport:
        self.speech.close()
        return DialectReport()
