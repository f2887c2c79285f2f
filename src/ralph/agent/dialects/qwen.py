"""Qwen Code's `--output-format stream-json`: Claude Code's events, but errors come as text in a successful result."""

from __future__ import annotations

import re

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_text, an_object, uncached
from ralph.agent.failure import WRITING_TOOLS
from ralph.plan.usage import Usage

API_ERROR = re.compile(r"\[API Error: ([^\n]*)\]\s*\Z")


class QwenReader(ClaudeReader):
    """Takes a text that ends with `[API Error: …]` for an error only if the message used no tokens: no model made it.

    The text before it is what the model had said until then. Its input tokens include the cached ones.
    """

    def take(self, event: Json) -> None:
        if event.get("subtype") == "init":
            tools = {tool for tool in a_list(event.get("tools")) if isinstance(tool, str)}
            if tools and not WRITING_TOOLS & tools:
                self.refuse("write_file")  # without permission, it does not even offer the tool to its model
        super().take(event)

    def _assistant(self, event: Json, message: Json) -> None:
        self._count(message)
        if event.get("parent_tool_use_id"):
            return
        used = an_object(message.get("usage"))
        written_by_model = bool(a_count(used.get("input_tokens")) or a_count(used.get("output_tokens")))
        for item in a_list(message.get("content")):
            block = an_object(item)
            error = API_ERROR.search(a_text(block.get("text"))) if block.get("type") == "text" else None
            if error and not written_by_model:
                before = a_text(block.get("text"))[: error.start()].strip()
                if before:
                    self.say(before)
                self.failure = api_errors.failure(error[1])
            else:
                self.speak({"content": [block]})

    def _count(self, message: Json) -> None:
        used = an_object(message.get("usage"))
        if a_count(used.get("input_tokens")):
            read = used.get("cache_read_input_tokens")
            self.count(
                input=uncached(used.get("input_tokens"), read),
                output=a_count(used.get("output_tokens")),
                cache_read=a_count(read),
                message=a_text(message.get("id")),
                model=a_text(message.get("model")),
            )

    def _result(self, result: Json) -> None:
        used = an_object(result.get("usage"))
        if a_count(used.get("input_tokens")):
            read = used.get("cache_read_input_tokens")
            self.total(
                Usage(
                    input_tokens=uncached(used.get("input_tokens"), read),
                    output_tokens=a_count(used.get("output_tokens")),
                    cache_read_tokens=a_count(read),
                )
            )
        for item in a_list(result.get("permission_denials")):
            self.refuse(an_object(item).get("tool_name"))
        if result.get("is_error"):
            error = result.get("error")
            message = a_text(error) or a_text(an_object(error).get("message")) or a_text(result.get("result"))
            self.failure = api_errors.failure(message.removeprefix("[API Error: ") or "no reason given")
