"""GitHub Copilot CLI's `--output-format json`: many kinds of events; it reports no tokens and no cost."""

from __future__ import annotations

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_text, an_object
from ralph.agent.failure import CallFailure, FailureKind
from ralph.agent.transcript import Transcript

KINDS = {
    "authentication": FailureKind.AUTHENTICATION,
    "authorization": FailureKind.AUTHENTICATION,
    "quota": FailureKind.USAGE_LIMIT,
}


class CopilotReader(JsonReader):
    """Takes whole messages only: their deltas repeat them."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._tool = ""  # the tool that began last

    def take(self, event: Json) -> None:
        data = an_object(event.get("data"))
        match event.get("type"):
            case "assistant.message":
                if not data.get("parentToolCallId"):
                    self.named(a_text(data.get("model")))
                    self.say(a_text(data.get("content")))
            case "tool.execution_start":
                self.tool_began(data.get("toolCallId"))
                self._tool = a_text(data.get("toolName"))
            case "tool.execution_complete":
                self.tool_ended(data.get("toolCallId"))
                if an_object(data.get("error")).get("code") == "denied":
                    self.refuse(self._tool or "a tool")
            case "model.call_failure":
                message = a_text(data.get("errorMessage")).strip('"') or "the model could not be reached"
                self.failure = api_errors.failure(message, status=data.get("statusCode"))
            case "session.error":
                message = a_text(data.get("message")) or "no reason given"
                kind = KINDS.get(a_text(data.get("errorType")))
                self.failure = api_errors.failure(message, status=data.get("statusCode"), kind=kind)
            case "result":
                self.finished = True
                code = a_count(event.get("exitCode"))
                if code == 0:
                    self.failure = None
                elif code and not self.failure:
                    self.failure = CallFailure(kind=FailureKind.ERROR, said=f"its result has the exit code {code}")
