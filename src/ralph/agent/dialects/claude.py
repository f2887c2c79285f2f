"""Claude Code's `--output-format stream-json`: reads the transcript, usage, cost, result and limits from its fields."""

from __future__ import annotations

import re

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_number, a_text, an_object
from ralph.agent.failure import CallFailure, FailureKind
from ralph.agent.transcript import Transcript
from ralph.plan.usage import Usage

OLD_LIMIT = re.compile(r"usage limit reached\|(\d{10})")
WORDS = {
    "authentication_failed": FailureKind.AUTHENTICATION,
    "billing_error": FailureKind.UNUSABLE,
    "model_not_found": FailureKind.UNUSABLE,
}
TROUBLE = ("server_error", "unknown", "overloaded")
LAST_CLAIMS = ("DONE", "VERIFIED", "RESET")


class ClaudeReader(JsonReader):
    """Accepts markers only in the main agent's own text: not in tool results, sub-agents or error messages."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._resets_at: float | None = None
        self._rejected = False
        self._error: object = None
        self._in_background = False

    def take(self, event: Json) -> None:
        match event.get("type"):
            case "assistant":
                self._assistant(event, an_object(event.get("message")))
            case "user":
                for block in a_list(an_object(event.get("message")).get("content")):
                    if an_object(block).get("type") == "tool_result":
                        self.tool_ended(an_object(block).get("tool_use_id"))
            case "result":
                self._result(event)
                self.finished = not self._in_background or any(self.transcript.says(kind) for kind in LAST_CLAIMS)
            case "rate_limit_event":
                self._rate_limit(an_object(event.get("rate_limit_info")))
            case "system" if event.get("subtype") == "api_retry":
                word = event.get("error")
                said = f"it was still trying to reach the model ({a_text(word) or 'no reason given'})"
                self.failure = _failure(said, event.get("error_status"), word or "unknown")
            case "system" if event.get("subtype") == "permission_denied":
                self.refuse(event.get("tool_name"))
            case "system" if event.get("subtype") == "background_tasks_changed":
                self._in_background = bool(event.get("tasks"))  # while one runs, a result is not final

    def _assistant(self, event: Json, message: Json) -> None:
        is_error = bool(event.get("error") or event.get("is_api_error_message"))
        if not is_error:
            self._count(message)
        if event.get("parent_tool_use_id"):
            return
        self._error = event.get("error")
        if not is_error:
            self.speak(message)

    def speak(self, message: Json) -> None:
        """Take the text of a message, and the tools that it calls."""
        for item in a_list(message.get("content")):
            block = an_object(item)
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                self.say(a_text(block["text"]))
            elif block.get("type") == "tool_use":
                self.tool_began(block.get("id"))

    def _count(self, message: Json) -> None:
        used = an_object(message.get("usage"))
        if used:
            self.count(
                input=a_count(used.get("input_tokens")),
                output=a_count(used.get("output_tokens")),  # as the message began; the result is exact
                cache_read=a_count(used.get("cache_read_input_tokens")),
                cache_write=a_count(used.get("cache_creation_input_tokens")),
                message=a_text(message.get("id")),
                model=a_text(message.get("model")),
            )

    def _rate_limit(self, info: Json) -> None:
        if info.get("status") == "rejected":
            self._rejected = True
            self._resets_at = a_number(info.get("resetsAt"))

    def _result(self, result: Json) -> None:
        self.total(_usage(result))
        for item in a_list(result.get("permission_denials")):
            self.refuse(an_object(item).get("tool_name"))
        if not result.get("is_error"):
            self.failure = None
            return
        reason = result.get("terminal_reason")
        message = a_text(result.get("result")) or a_text(reason) or "no reason given"
        old = OLD_LIMIT.search(message)
        if old or self._rejected:
            reset = float(old[1]) if old else self._resets_at
            self.failure = CallFailure(kind=FailureKind.USAGE_LIMIT, said=message, retry_at=reset)
        elif reason == "prompt_too_long":
            self.failure = CallFailure(kind=FailureKind.CONTEXT_TOO_LONG, said=message)
        else:
            self.failure = _failure(message, result.get("api_error_status"), self._error)


def _failure(message: str, status: object, word: object) -> CallFailure:
    """Classify an error by Claude Code's own word for it, else by its HTTP status."""
    named = WORDS.get(word) if isinstance(word, str) else None
    if named or a_count(status) is not None:
        return api_errors.failure(message, status=status, kind=named)
    if word == "rate_limit":
        return api_errors.failure(message, status=429)
    if word in TROUBLE:
        found = api_errors.failure(message)
        is_network = found.kind is FailureKind.NETWORK
        return found if is_network else CallFailure(kind=FailureKind.OVERLOAD, said=message)
    return CallFailure(kind=FailureKind.ERROR, said=message)


def _usage(result: Json) -> Usage:
    """Return the usage of the whole call; only `modelUsage` includes sub-agents and earlier results."""
    models = an_object(result.get("modelUsage"))
    used = an_object(result.get("usage"))
    return Usage(
        input_tokens=_total(models, "inputTokens", used.get("input_tokens")),
        output_tokens=_total(models, "outputTokens", used.get("output_tokens")),
        cache_read_tokens=_total(models, "cacheReadInputTokens", used.get("cache_read_input_tokens")),
        cache_write_tokens=_total(models, "cacheCreationInputTokens", used.get("cache_creation_input_tokens")),
        cost_usd=a_number(result.get("total_cost_usd")),
        model=max(models, key=lambda name: _spent(models[name]), default=""),
    )


def _total(models: Json, key: str, otherwise: object) -> int | None:
    counts = [count for model in models.values() if (count := a_count(an_object(model).get(key))) is not None]
    return sum(counts) if counts else a_count(otherwise)


def _spent(usage: object) -> float:
    return a_number(an_object(usage).get("costUSD")) or 0.0
