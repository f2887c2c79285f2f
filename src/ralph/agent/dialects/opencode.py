"""OpenCode's `run --format json`: steps with their usage and cost, and errors with status and headers."""

from __future__ import annotations

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import DialectReport, JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_number, a_text, an_object
from ralph.agent.failure import FailureKind
from ralph.agent.transcript import Transcript

NAMES = {
    "ProviderAuthError": FailureKind.AUTHENTICATION,
    "ProviderModelNotFoundError": FailureKind.UNUSABLE,
    "ContextOverflowError": FailureKind.CONTEXT_TOO_LONG,
}
REFUSED = "The user rejected permission"


class OpenCodeReader(JsonReader):
    """Reads the session that the program began with; it has no event for its end, and names no tool that still runs."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._session: object = None
        self._in_step = False

    def take(self, event: Json) -> None:
        session = event.get("sessionID")
        self._session = self._session or session
        if session and session != self._session:
            return
        part = an_object(event.get("part"))
        match event.get("type"):
            case "step_start":
                self._in_step = True
            case "text":
                if not part.get("synthetic"):
                    self.say(a_text(part.get("text")))
            case "tool_use":
                self.heard()
                self._tool(a_text(part.get("tool")), an_object(part.get("state")))
            case "step_finish":
                self._in_step = False
                self.heard()
                self._count(part)
            case "error":
                self._failed(an_object(event.get("error")), a_number(event.get("timestamp")) or 0.0)

    def close(self) -> DialectReport:
        for _ in range(self._in_step):
            self._tools.add("a tool of this step may be running")
        return super().close()

    def _tool(self, name: str, state: Json) -> None:
        if state.get("status") == "error" and a_text(state.get("error")).startswith(REFUSED):
            self.refuse(name)

    def _count(self, part: Json) -> None:
        tokens = an_object(part.get("tokens"))
        cache = an_object(tokens.get("cache"))
        output, thought = a_count(tokens.get("output")), a_count(tokens.get("reasoning"))
        self.count(
            input=a_count(tokens.get("input")),
            output=None if output is None else output + (thought or 0),
            cache_read=a_count(cache.get("read")),
            cache_write=a_count(cache.get("write")),
            cost=a_number(part.get("cost")) or None,  # it says 0 if it does not know the price
        )

    def _failed(self, error: Json, at: float) -> None:
        name, data = a_text(error.get("name")), an_object(error.get("data"))
        self.failure = api_errors.failure(
            a_text(data.get("message")) or name or "no reason given",
            status=data.get("statusCode"),
            kind=NAMES.get(name),
            retry_at=api_errors.retry_after(an_object(data.get("responseHeaders")), at / 1000),
        )
