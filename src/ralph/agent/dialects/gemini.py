"""Gemini CLI's `--output-format stream-json`: one answer comes in several events, and the result says how it ended."""

from __future__ import annotations

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_text, an_object, uncached
from ralph.plan.usage import Usage


class GeminiReader(JsonReader):
    """Joins the pieces of an answer until the model calls a tool or its turn ends."""

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "init":
                self.named(a_text(event.get("model")))
            case "message" if event.get("role") == "assistant":
                text = a_text(event.get("content"))
                if event.get("delta"):
                    self.say_piece(text, "answer")
                else:
                    self.say(text)
            case "message":
                self.end_piece()
            case "tool_use":
                self.tool_began(event.get("tool_id"))
            case "tool_result":
                self.end_piece()
                self.tool_ended(event.get("tool_id"))
            case "result":
                self.end_piece()
                self.finished = True
                self._result(event)

    def _result(self, result: Json) -> None:
        self._count(an_object(result.get("stats")))
        self.failure = None
        if result.get("status") == "error":
            error = an_object(result.get("error"))
            message = a_text(error.get("message")) or a_text(error.get("type")) or "no reason given"
            self.failure = api_errors.failure(_without_brackets(message))

    def _count(self, stats: Json) -> None:
        """Its input tokens include the cached ones."""
        if not a_count(stats.get("total_tokens")):
            return
        models = an_object(stats.get("models"))
        self.total(
            Usage(
                input_tokens=uncached(stats.get("input_tokens"), stats.get("cached")),
                output_tokens=a_count(stats.get("output_tokens")),
                cache_read_tokens=a_count(stats.get("cached")),
                model=max(models, key=lambda name: _tokens(models[name]), default=""),
            )
        )


def _tokens(model: object) -> int:
    return a_count(an_object(model).get("total_tokens")) or 0


def _without_brackets(message: str) -> str:
    """Remove the program's own frame from `[API Error: rate limited]`; a hint may follow on the next line."""
    first, newline, rest = message.partition("\n")
    inner = first.removeprefix("[API Error: ")
    return (inner.removesuffix("]") if inner != first else first) + newline + rest
