"""Goose's `--output-format stream-json`: messages in pieces. Errors come as messages that no model made."""

from __future__ import annotations

import re

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_text, an_object
from ralph.agent.failure import FailureKind
from ralph.plan.usage import Usage

ERROR = re.compile(r"(?:Ran into this error|Network error): (.*?)\s*(?:\n\nPlease (?:retry|resend) .*)?\Z", re.DOTALL)
STOPPED = "Unable to continue: "
KINDS = {
    "Authentication error": FailureKind.AUTHENTICATION,
    "Rate limit exceeded": FailureKind.RATE_LIMIT,
    "Server error": FailureKind.OVERLOAD,
    "Context length exceeded": FailureKind.CONTEXT_TOO_LONG,
    "Request failed": FailureKind.NETWORK,
}


class GooseReader(JsonReader):
    """A message of a model has an id. An error of the program has none, and begins with words of its own."""

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "message":
                self._message_of(an_object(event.get("message")))
            case "complete":
                self.end_piece()
                self.finished = True
                if a_count(event.get("total_tokens")):
                    self.total(
                        Usage(
                            input_tokens=a_count(event.get("input_tokens")),
                            output_tokens=a_count(event.get("output_tokens")),
                        )
                    )

    def _message_of(self, message: Json) -> None:
        is_agent, name = message.get("role") == "assistant", a_text(message.get("id"))
        for item in a_list(message.get("content")):
            content = an_object(item)
            match content.get("type"):
                case "text" if is_agent:
                    self._text(a_text(content.get("text")), name)
                case "toolRequest":
                    self.tool_began(content.get("id"))
                case "toolResponse":
                    self.end_piece()
                    self.tool_ended(content.get("id"))
                case "systemNotification" if a_text(content.get("msg")).startswith(STOPPED):
                    self.end_piece()
                    self.failure = api_errors.failure(a_text(content.get("msg")).removeprefix(STOPPED))

    def _text(self, text: str, name: str) -> None:
        error = None if name else ERROR.match(text)
        if error:
            self.end_piece()
            self.failure = api_errors.failure(error[1], kind=_kind(text))
        elif name:
            self.say_piece(text, name)
        else:
            self.say(text)


def _kind(text: str) -> FailureKind | None:
    """Return the kind that the program's own words at the start of an error name."""
    if text.startswith("Network error: "):
        return FailureKind.NETWORK
    named = text.partition(": ")[2].partition(": ")[0]
    return KINDS.get(named)
