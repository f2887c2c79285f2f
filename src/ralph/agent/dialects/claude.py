"""Claude Code's `--output-format stream-json`: reads speech, usage, cost, result and limits from its fields."""

from __future__ import annotations

import re

from ralph.agent.dialects.base import DialectReport, Reader, Trouble
from ralph.agent.dialects.lines import JsonLines
from ralph.agent.speech import Speech
from ralph.plan.usage import Usage

Json = dict[str, object]
OLD_LIMIT = re.compile(r"usage limit reached\|(\d{10})")
A_PERSON_MUST_FIX = frozenset({"authentication_failed", "billing_error", "model_not_found"})
LAST_CLAIMS = ("DONE", "VERIFIED", "RESET")


class ClaudeReader(Reader):
    """Accepts markers only in the main agent's own text: not in tool results, sub-agents or error messages."""

    def __init__(self, speech: Speech) -> None:
        super().__init__(speech)
        self._lines = JsonLines()
        self._result: Json | None = None
        self._resets_at: float | None = None
        self._rejected = False
        self._retry: Json = {}
        self._error: object = None
        self._in_background = False

    def feed(self, data: bytes) -> None:
        for event in self._lines.feed(data):
            self._event(event)

    def close(self) -> DialectReport:
        for event in self._lines.close():
            self._event(event)
        self.speech.close()
        return self._report()

    def _event(self, event: Json) -> None:
        match event.get("type"):
            case "assistant":
                self._assistant(event)
            case "result":
                self._result = event
                self.finished = not self._in_background or any(self.speech.says(kind) for kind in LAST_CLAIMS)
            case "rate_limit_event":
                self._rate_limit(_object(event.get("rate_limit_info")))
            case "system" if event.get("subtype") == "api_retry":
                self._retry = event
            case "system" if event.get("subtype") == "background_tasks_changed":
                self._in_background = bool(event.get("tasks"))  # while one runs, a result is not final

    def _assistant(self, event: Json) -> None:
        if event.get("parent_tool_use_id"):
            return
        self._error = event.get("error")
        if self._error or event.get("is_api_error_message"):
            return
        content = _object(event.get("message")).get("content")
        for block in content if isinstance(content, list) else ():
            text = _object(block).get("text")
            if _object(block).get("type") == "text" and isinstance(text, str):
                self.speech.feed(text.encode(errors="replace") + b"\n")

    def _rate_limit(self, info: Json) -> None:
        if info.get("status") == "rejected":
            self._rejected = True
            self._resets_at = _number(info.get("resetsAt"))

    def _report(self) -> DialectReport:
        if self._result is None:
            if not self._retry:
                return DialectReport()
            message = f"it was still trying to reach the model ({self._retry.get('error')})"
            trouble = _trouble(self._retry.get("error_status"), self._retry.get("error") or "unknown")
            return DialectReport(trouble=trouble, message=message)
        usage = _usage(self._result)
        if not self._result.get("is_error"):
            return DialectReport(usage=usage)
        message = str(self._result.get("result") or self._result.get("terminal_reason") or "no reason given")
        trouble = _trouble(self._result.get("api_error_status"), self._error)
        old = OLD_LIMIT.search(message)
        if old or self._rejected:
            trouble = Trouble.LIMIT
        retry_at = float(old[1]) if old else self._resets_at
        return DialectReport(trouble=trouble, message=message, retry_at=retry_at, usage=usage)


def _trouble(status: object, word: object) -> Trouble:
    """Classify an error by its HTTP status, else by Claude Code's own word for it."""
    if word in A_PERSON_MUST_FIX or status in (401, 403):
        return Trouble.UNUSABLE
    if status == 429 or word == "rate_limit":
        return Trouble.LIMIT
    if status in (500, 502, 503, 504, 529) or (status is None and word in ("server_error", "unknown", "overloaded")):
        return Trouble.OVERLOAD
    return Trouble.ERROR


def _usage(result: Json) -> Usage:
    """Return the usage of the whole call; only `modelUsage` includes sub-agents and earlier results."""
    cost = _number(result.get("total_cost_usd"))
    models = _object(result.get("modelUsage"))
    used = _object(result.get("usage"))
    return Usage(
        input_tokens=_total(models, "inputTokens", used.get("input_tokens")),
        output_tokens=_total(models, "outputTokens", used.get("output_tokens")),
        cache_read_tokens=_total(models, "cacheReadInputTokens", used.get("cache_read_input_tokens")),
        cache_write_tokens=_total(models, "cacheCreationInputTokens", used.get("cache_creation_input_tokens")),
        cost_usd=cost,
        calls=1,
        unpriced=1 if cost is None else 0,
        model=max(models, key=lambda name: _spent(models[name]), default=""),
    )


def _total(models: Json, key: str, otherwise: object) -> int | None:
    counts = [count for model in models.values() if (count := _count(_object(model).get(key))) is not None]
    return sum(counts) if counts else _count(otherwise)


def _spent(usage: object) -> float:
    return _number(_object(usage).get("costUSD")) or 0.0


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
