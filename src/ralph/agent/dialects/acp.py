"""The Agent Client Protocol as an agent speaks it: what it says, does and uses, and why its turn ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.agents import AcpProgram
from ralph.agent.dialects.base import JsonReader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_number, a_text, an_object, uncached
from ralph.agent.dialects.lines import MAX_LINE_BYTES
from ralph.agent.failure import CallFailure, FailureKind
from ralph.agent.transcript import Transcript
from ralph.plan.usage import Usage

UPDATE = "session/update"
OVER = ("completed", "failed")
STOPS = {
    "max_tokens": "the model reached its token limit (max_tokens)",
    "max_turn_requests": "it reached its limit of requests to the model (max_turn_requests)",
    "refusal": "the model refused to continue (refusal)",
    "cancelled": "its turn was cancelled",
}
AUTHENTICATION_REQUIRED = -32000
PREFIX = re.compile(r"Internal error(?:: )?")  # what JSON-RPC calls every error of a program's own
DETAILS = ("message", "details", "error")
NAMES = ("errorKind", "errorName", "codex_error_info")
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class AcpReader(JsonReader):
    """Reads what the agent reports on its turn; hands on the messages that need an answer or are one."""

    def __init__(self, transcript: Transcript, program: AcpProgram | None = None) -> None:
        super().__init__(transcript)
        self.receive: Callable[[Json], None] = lambda message: None
        self.break_off: Callable[[CallFailure], None] = self.fail
        self._program = program or AcpProgram(command="")
        self._notices = re.compile(self._program.notices, re.DOTALL)
        self._errors = re.compile(self._program.errors, re.DOTALL)
        self._error = ""  # what the program's last message says about an error of its own
        self._cost: float | None = None

    def take(self, event: Json) -> None:
        if event.get("method") == UPDATE and "id" not in event:
            self._update(an_object(an_object(event.get("params")).get("update")))
        else:
            self.receive(event)

    def lost(self, beginning: bytes) -> None:
        if UPDATE.encode() not in beginning:  # an update that is lost does no harm, an answer does
            said = f"it sent a message of more than {MAX_LINE_BYTES >> 20} MB"
            self.break_off(CallFailure(kind=FailureKind.ERROR, said=said))

    def heard(self) -> None:
        self._error = ""
        if not self.complete:
            super().heard()

    @property
    def usage(self) -> Usage:
        used = super().usage
        return used if self._cost is None else replace(used, cost_usd=self._cost, unpriced=0)

    def end_turn(self, result: Json) -> None:
        """Take the answer to the prompt: the turn is over."""
        self.end_piece()
        self.take_usage(result)
        reason = a_text(result.get("stopReason"))
        if reason != "end_turn":
            said = STOPS.get(reason) or f"it did not say why its turn ended ({reason or 'no stopReason'})"
            self.fail(CallFailure(kind=FailureKind.ERROR, said=said))
        elif self._error:
            self.fail(api_errors.failure(self._error))
        self.complete = True

    def fail(self, failure: CallFailure) -> None:
        """End the turn with a failure; the first one counts."""
        if not self.complete:
            self.failure, self.complete = failure, True

    def take_usage(self, result: Json) -> None:
        """Take the tokens of the turn from the answer to the prompt."""
        used = an_object(result.get("usage"))
        if used.get("totalTokens") != 0 and not self._program.counts_last_answer:
            self._take_total(_input(used), used.get("outputTokens"), used)
        quota = an_object(an_object(result.get("_meta")).get("quota"))
        counted = an_object(quota.get("token_count"))
        self._take_total(counted.get("input_tokens"), counted.get("output_tokens"), {})
        models = [a_text(an_object(one).get("model")) for one in a_list(quota.get("model_usage"))]
        self.named(models[0] if len(models) == 1 else "")

    def _take_total(self, input: object, output: object, used: Json) -> None:
        if a_count(input) is not None or a_count(output) is not None:
            read, written = a_count(used.get("cachedReadTokens")), a_count(used.get("cachedWriteTokens"))
            self.total(
                Usage(
                    input_tokens=a_count(input),
                    output_tokens=a_count(output),
                    cache_read_tokens=read,
                    cache_write_tokens=written,
                )
            )

    def _update(self, update: Json) -> None:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._chunk(update)
            case "agent_thought_chunk" | "plan":
                self.end_piece()
                self.heard()
            case "tool_call":
                self.tool_began(update.get("toolCallId"))
                self._tool(update)
            case "tool_call_update":
                self.end_piece()
                self._tool(update)
            case "usage_update":
                cost = an_object(update.get("cost"))
                if cost.get("currency") == "USD":
                    self._cost = a_number(cost.get("amount")) or self._cost  # 0: it has no price

    def _tool(self, update: Json) -> None:
        if update.get("status") in OVER:
            self.tool_ended(update.get("toolCallId"))

    def _chunk(self, update: Json) -> None:
        meta, content = an_object(update.get("_meta")), an_object(update.get("content"))
        if an_object(meta.get("claudeCode")).get("parentToolUseId"):
            return  # a sub-agent's words
        self._count(an_object(meta.get("usage")))
        text = a_text(content.get("text")) if content.get("type") == "text" else ""
        error = self._errors.fullmatch(text) if self._program.errors else None
        if error:
            self.end_piece()
            self._error = error[1]
        elif self._program.notices and self._notices.fullmatch(text):
            self.end_piece()
        elif text:
            self.say_piece(text, a_text(update.get("messageId")) or "a message")

    def _count(self, used: Json) -> None:
        """Take the tokens of one answer, which some programs attach to its last piece."""
        if a_count(used.get("totalTokens")):
            self.count(
                input=_input(used),
                output=a_count(used.get("outputTokens")),
                cache_read=a_count(used.get("cachedReadTokens")),
            )


def _input(used: Json) -> int | None:
    """Return the input tokens without the cached ones; the total shows whether a program includes those."""
    given, output = a_count(used.get("inputTokens")), a_count(used.get("outputTokens"))
    includes = given is not None and output is not None and given + output == a_count(used.get("totalTokens"))
    return uncached(given, used.get("cachedReadTokens"), used.get("cachedWriteTokens")) if includes else given


def rpc_failure(code: object, message: object, data: object) -> CallFailure:
    """Return the failure behind an error that a program answers with."""
    more = an_object(data)
    details = next((text for key in DETAILS if (text := a_text(more.get(key)))), "") or a_text(data)
    said = PREFIX.sub("", a_text(message), count=1).strip()
    said = " ".join(filter(None, (said, details if details not in said else "")))
    if code == AUTHENTICATION_REQUIRED:
        return CallFailure(kind=FailureKind.AUTHENTICATION, said=said)
    names = " ".join(CAPITAL.sub(" ", text) for key in NAMES if (text := a_text(more.get(key))))
    if not said and not names:
        return CallFailure(kind=FailureKind.ERROR, said=a_text(message) or f"error {code}")
    found = api_errors.failure(said or names, status=_status(code, more))
    if found.kind is not FailureKind.ERROR or not names:
        return found
    return replace(api_errors.failure(names), said=found.said)


def _status(code: object, data: Json) -> int | None:
    """Return the HTTP status that an error names: as its code, or in a field of its data."""
    inner = [an_object(value) for value in data.values()]
    named = (found.get(key) for found in (data, *inner) for key in ("http_status_code", "statusCode", "status"))
    return next((status for status in (a_count(code), *map(a_count, named)) if status and 400 <= status < 600), None)
