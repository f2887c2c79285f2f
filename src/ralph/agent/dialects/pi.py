"""Pi's `--mode json`: whole messages with usage and cost; a message that ended with an error says so."""

from __future__ import annotations

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_number, a_text, an_object

BROKEN = ("error", "aborted")


class PiReader(JsonReader):
    """Reads `message_end` only: updates, turns and the end of the run repeat the same messages."""

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "message_end":
                message = an_object(event.get("message"))
                if message.get("role") == "assistant":
                    self._answer(message)
            case "tool_execution_start":
                self.tool_began(event.get("toolCallId"))
            case "tool_execution_end":
                self.tool_ended(event.get("toolCallId"))
            case "agent_end":
                self.finished = self.failure is None  # it tries again after an error
            case "agent_start":
                self.finished = False

    def _answer(self, message: Json) -> None:
        used = an_object(message.get("usage"))
        if a_count(used.get("totalTokens")):
            self.count(
                input=a_count(used.get("input")),
                output=a_count(used.get("output")),
                cache_read=a_count(used.get("cacheRead")),
                cache_write=a_count(used.get("cacheWrite")),
                cost=a_number(an_object(used.get("cost")).get("total")) or None,  # 0: it has no price
                model=a_text(message.get("model")),
            )
        reason = message.get("stopReason")
        if reason in BROKEN:
            self.failure = api_errors.failure(a_text(message.get("errorMessage")) or f"the answer was {reason}")
            return
        self.heard()
        for item in a_list(message.get("content")):
            block = an_object(item)
            if block.get("type") == "text":
                self.say(a_text(block.get("text")))
