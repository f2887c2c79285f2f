"""What every dialect's reader reports about a call, whatever the agent's output format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace
from typing import TypeVar

from ralph.agent.dialects.fields import Json
from ralph.agent.dialects.lines import JsonLines
from ralph.agent.failure import CallFailure
from ralph.agent.transcript import Transcript
from ralph.frozen import Frozen
from ralph.plan.usage import Usage

MAX_KEPT = 1_000
MAX_NAME = 200


def _unknown() -> Usage:
    return Usage(calls=1, unpriced=1)


_Tokens = tuple[int | None, int | None, int | None, int | None, float | None]
"""Input, output, read from and written to the cache, cost: plain numbers, because they are added for every answer."""
_NOTHING: _Tokens = (None, None, None, None, None)
N = TypeVar("N", int, float)


def _sum(one: _Tokens, two: _Tokens) -> _Tokens:
    return (
        _add(one[0], two[0]),
        _add(one[1], two[1]),
        _add(one[2], two[2]),
        _add(one[3], two[3]),
        _add(one[4], two[4]),
    )


def _add(one: N | None, two: N | None) -> N | None:
    return two if one is None else one if two is None else one + two


def _name(call: object) -> str:
    return call[:MAX_NAME] if isinstance(call, str) else ""


class DialectReport(Frozen):
    """What the agent's output says about the call itself."""

    failure: CallFailure | None = None
    usage: Usage = field(default_factory=_unknown)
    refused: tuple[str, ...] = ()  # the tools that it was refused
    answered: bool = True  # the model has answered at least once
    waiting: bool = False  # at its end, the program was waiting for the model
    complete: bool = False  # the call ended in the conversation; how the program ended after that says nothing


class Reader(ABC):
    """Turns an agent's standard output into a transcript and a report."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.finished = False  # the agent has said its last word
        self.failure: CallFailure | None = None  # what went wrong last, until the agent says something again

    @property
    def usage(self) -> Usage:
        """What the call has used so far, at the least."""
        return _unknown()

    @abstractmethod
    def feed(self, data: bytes) -> None: ...

    def close(self) -> DialectReport:
        self.transcript.close()
        return DialectReport(usage=self.usage)


class JsonReader(Reader):
    """Reads one JSON object a line. A subclass handles the events that it knows and ignores all others."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self.refused: list[str] = []
        self.complete = False
        self._lines = JsonLines(self.lost)
        self._tools: set[str] = set()  # the tool calls that are running
        self._answered = False
        self._piece = ""  # the message whose pieces are being joined
        self._message = ""  # the message whose usage was counted last
        self._latest, self._earlier = _NOTHING, _NOTHING  # its usage, and that of the messages before it
        self._total: Usage | None = None  # what the program itself says that the call has used
        self._model = ""

    @abstractmethod
    def take(self, event: Json) -> None:
        """Handle one event. Its fields may have any type."""

    def lost(self, beginning: bytes) -> None:
        """Handle the beginning of an event that is too long to be read."""

    def feed(self, data: bytes) -> None:
        for event in self._lines.feed(data):
            self.take(event)

    def close(self) -> DialectReport:
        for event in self._lines.close():
            self.take(event)
        self.transcript.close()
        return DialectReport(
            failure=self.failure,
            usage=self.usage,
            refused=tuple(self.refused),
            answered=self._answered,
            waiting=not self._tools,
            complete=self.complete,
        )

    def say(self, text: str) -> None:
        """Take a whole message of the agent's own."""
        self.end_piece()
        self.heard()
        if text:
            self.transcript.feed(text.encode(errors="replace") + b"\n")

    def say_piece(self, text: str, message: str) -> None:
        """Take a piece of a message; pieces of the same message are joined."""
        if self._piece != message:
            self.end_piece()
        self._piece = message
        self.heard()
        self.transcript.feed(text.encode(errors="replace"))

    def end_piece(self) -> None:
        if self._piece:
            self.transcript.feed(b"\n")
        self._piece = ""

    def heard(self) -> None:
        """Note that the model has answered: what the program tried again has succeeded."""
        self._answered = True
        self.failure = None

    def tool_began(self, call: object) -> None:
        self.end_piece()
        self.heard()
        if len(self._tools) < MAX_KEPT:
            self._tools.add(_name(call))

    def tool_ended(self, call: object) -> None:
        self._tools.discard(_name(call))

    def count(
        self,
        *,
        input: int | None,
        output: int | None,
        cache_read: int | None = None,
        cache_write: int | None = None,
        cost: float | None = None,
        message: str = "",
        model: str = "",
    ) -> None:
        """Add what one answer of the model used; another event of the same message replaces what it said before."""
        if not message or message != self._message:
            self._earlier, self._message = _sum(self._earlier, self._latest), message
        self._latest = (input, output, cache_read, cache_write, cost)
        self._total = None
        self._model = model or self._model

    def total(self, used: Usage) -> None:
        """Set what the whole call has used so far."""
        self._total = used
        self._model = used.model or self._model

    @property
    def usage(self) -> Usage:
        if self._total:
            cost = self._total.cost_usd
            return replace(self._total, calls=1, unpriced=1 if cost is None else 0, model=self._model)
        tokens = _sum(self._earlier, self._latest)
        return Usage(
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cache_read_tokens=tokens[2],
            cache_write_tokens=tokens[3],
            cost_usd=tokens[4],
            calls=1,
            unpriced=1 if tokens[4] is None else 0,
            model=self._model,
        )

    def named(self, model: str) -> None:
        """Note the model."""
        self._model = model or self._model

    def refuse(self, tool: object) -> None:
        """Note a tool that the agent may not use."""
        name = _name(tool)
        if name and name not in self.refused and len(self.refused) < MAX_KEPT:
            self.refused.append(name)
