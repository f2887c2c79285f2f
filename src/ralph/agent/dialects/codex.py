"""Codex's `exec --json`: threads, turns and items. Errors are messages without a status."""

from __future__ import annotations

import re

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_text, an_object, uncached
from ralph.agent.failure import FailureKind
from ralph.plan.usage import Usage

RETRYING = re.compile(r"Reconnecting\.\.\. .*?\((.*)\)\s*\Z", re.DOTALL)
NO_CREDIT = "Quota exceeded. Check your plan"  # its words for `insufficient_quota`, which no waiting ends
TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call")


class CodexReader(JsonReader):
    """Only `agent_message` items belong to the transcript. An item of type `error` is a warning; only turns fail."""

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "item.started":
                item = an_object(event.get("item"))
                if item.get("type") in TOOLS:
                    self.tool_began(item.get("id"))
            case "item.completed":
                self._item(an_object(event.get("item")))
            case "turn.completed":
                self.failure, self.finished = None, True
                self._count(an_object(event.get("usage")))
            case "turn.failed":
                self._failed(a_text(an_object(event.get("error")).get("message")) or "no reason given")
                self.finished = True
            case "error":
                message = a_text(event.get("message"))
                retrying = RETRYING.search(message)
                self._failed(retrying[1] if retrying else message)

    def _item(self, item: Json) -> None:
        match item.get("type"):
            case "agent_message":
                self.say(a_text(item.get("text")))
            case kind if kind in TOOLS:
                self.heard()
                self.tool_ended(item.get("id"))
                if item.get("status") == "declined":
                    self.refuse(kind)

    def _failed(self, message: str) -> None:
        kind = FailureKind.UNUSABLE if message.startswith(NO_CREDIT) else None
        self.failure = api_errors.failure(message, kind=kind)

    def _count(self, used: Json) -> None:
        """Its input tokens include what was read from and written to the cache."""
        read, write = used.get("cached_input_tokens"), used.get("cache_write_input_tokens")
        self.total(
            Usage(
                input_tokens=uncached(used.get("input_tokens"), read, write),
                output_tokens=a_count(used.get("output_tokens")),
                cache_read_tokens=a_count(read),
                cache_write_tokens=a_count(write),
            )
        )
