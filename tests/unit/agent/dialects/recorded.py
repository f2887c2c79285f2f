"""Output of real programs, and events in their formats for what was not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph.agent.dialects import DIALECTS
from ralph.agent.dialects.base import DialectReport, Reader
from ralph.agent.transcript import Transcript

DATA = Path(__file__).parents[3] / "data"
STRUCTURED = [name for name, dialect in DIALECTS.items() if dialect.is_structured]
SAMPLES = [(name, path.stem) for name in STRUCTURED for path in sorted((DATA / name).glob("*.jsonl"))]
Json = dict[str, Any]


def raw(agent: str, name: str) -> bytes:
    path = DATA / agent / name
    return (path if path.suffix == ".txt" else path.with_name(f"{name}.jsonl")).read_bytes()


def success(agent: str) -> bytes:
    return raw(agent, "success-2.1.325" if agent == "claude" else "success")


@dataclass(frozen=True)
class Heard:
    """What a reader made of some output."""

    report: DialectReport
    transcript: Transcript
    reader: Reader

    @property
    def kind(self) -> str:
        return self.report.failure.kind.value if self.report.failure else ""


def read(agent: str, *pieces: bytes, prompt: str = "") -> Heard:
    transcript = Transcript(prompt)
    reader = DIALECTS[agent].reader(transcript)
    for piece in pieces:
        reader.feed(piece)
    return Heard(reader.close(), transcript, reader)


def lines(*events: Json) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@dataclass(frozen=True)
class Format:
    """How a program says things; `other` is everything that it prints and that nobody said."""

    says: Callable[[str], list[Json]]
    tool: Callable[[str], list[Json]]  # a tool call whose input and output are this text
    other: Callable[[str], list[Json]]
    end: Callable[[str], list[Json]]  # the end of a call that went well; the text is its last answer


def _claude_like(**result: Any) -> Format:
    def message(role: str, *content: Json, **more: Any) -> Json:
        used = {"input_tokens": 5, "output_tokens": 5}
        return {"type": role, "message": {"role": role, "content": list(content), "usage": used}, **more}

    return Format(
        says=lambda text: [message("assistant", {"type": "text", "text": text})],
        tool=lambda text: [
            message("assistant", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": text}}),
            message("user", {"type": "tool_result", "tool_use_id": "t1", "content": text}),
        ],
        other=lambda text: [
            {"type": "user", "message": {"role": "user", "content": text}},
            message("assistant", {"type": "thinking", "thinking": text, "text": text}),
            message("assistant", {"type": "text", "text": text}, parent_tool_use_id="t0"),
            {"type": "system", "subtype": "init", "text": text},
        ],
        end=lambda text: [{"type": "result", "subtype": "success", "is_error": False, "result": text, **result}],
    )


def _codex_item(kind: str, **fields: Any) -> Json:
    return {"type": "item.completed", "item": {"id": "i", "type": kind, **fields}}


def _opencode(kind: str, **part: Any) -> Json:
    return {"type": kind, "timestamp": 1_794_793_165_212, "sessionID": "s", "part": {"sessionID": "s", **part}}


def _copilot(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": "x"}


def _goose(role: str, content: Json, name: str | None = "m") -> Json:
    return {"type": "message", "message": {"id": name, "role": role, "content": [content]}}


def _pi(role: str, *content: Json, **more: Any) -> Json:
    return {"type": "message_end", "message": {"role": role, "content": list(content), **more}}


FORMATS = {
    "claude": _claude_like(total_cost_usd=0.1),
    "qwen": _claude_like(),
    "codex": Format(
        says=lambda text: [_codex_item("agent_message", text=text)],
        tool=lambda text: [_codex_item("command_execution", command=text, aggregated_output=text, exit_code=0)],
        other=lambda text: [
            _codex_item("reasoning", text=text),
            _codex_item("error", message=text),
            {"type": "item.updated", "item": {"type": "agent_message", "text": text}},
        ],
        end=lambda _: [{"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 5}}],
    ),
    "opencode": Format(
        says=lambda text: [_opencode("text", type="text", text=text)],
        tool=lambda text: [
            _opencode(
                "tool_use", tool="bash", state={"status": "completed", "input": {"command": text}, "output": text}
            )
        ],
        other=lambda text: [
            _opencode("reasoning", text=text),
            _opencode("text", type="text", text=text, synthetic=True),
            {"type": "text", "sessionID": "of a sub-agent", "part": {"text": text}},
        ],
        end=lambda _: [_opencode("step_finish", reason="stop", tokens={"input": 5, "output": 5}, cost=0.1)],
    ),
    "gemini": Format(
        says=lambda text: [
            {"type": "message", "role": "assistant", "content": text[at : at + 7], "delta": True}
            for at in range(0, len(text), 7)
        ],
        tool=lambda text: [
            {"type": "tool_use", "tool_name": "run", "tool_id": "t", "parameters": {"command": text}},
            {"type": "tool_result", "tool_id": "t", "status": "success", "output": text},
        ],
        other=lambda text: [
            {"type": "message", "role": "user", "content": text},
            {"type": "thought", "content": text},
            {"type": "error", "severity": "warning", "message": text},
        ],
        end=lambda _: [{"type": "result", "status": "success", "stats": {"total_tokens": 5, "input_tokens": 5}}],
    ),
    "copilot": Format(
        says=lambda text: [
            _copilot("assistant.message_delta", deltaContent=text),
            _copilot("assistant.message", content=text, model="m"),
        ],
        tool=lambda text: [
            _copilot("tool.execution_start", toolCallId="t", toolName="bash", arguments={"command": text}),
            _copilot("tool.shell_output", toolCallId="t", text=text),
            _copilot("tool.execution_complete", toolCallId="t", success=True, result={"content": text}),
        ],
        other=lambda text: [
            _copilot("user.message", content=text, transformedContent=text),
            _copilot("assistant.reasoning", content=text),
            _copilot("assistant.message", content=text, parentToolCallId="t0"),
            _copilot("session.info", message=text),
        ],
        end=lambda _: [{"type": "result", "exitCode": 0}],
    ),
    "goose": Format(
        says=lambda text: [
            _goose("assistant", {"type": "text", "text": text[at : at + 7]}) for at in range(0, len(text), 7)
        ],
        tool=lambda text: [
            _goose("assistant", {"type": "toolRequest", "id": "t", "toolCall": {"value": {"arguments": text}}}),
            _goose("user", {"type": "toolResponse", "id": "t", "toolResult": {"value": {"content": [text]}}}),
        ],
        other=lambda text: [
            _goose("user", {"type": "text", "text": text}),
            _goose("assistant", {"type": "thinking", "thinking": text, "text": text}),
            _goose("assistant", {"type": "systemNotification", "msg": text}, None),
        ],
        end=lambda _: [{"type": "complete", "total_tokens": 10, "input_tokens": 5, "output_tokens": 5}],
    ),
    "pi": Format(
        says=lambda text: [_pi("assistant", {"type": "text", "text": text}, stopReason="stop")],
        tool=lambda text: [
            _pi("assistant", {"type": "toolCall", "arguments": {"command": text}}, stopReason="toolUse"),
            {"type": "tool_execution_start", "toolCallId": "t", "args": {"command": text}},
            {"type": "tool_execution_end", "toolCallId": "t", "result": {"content": [{"type": "text", "text": text}]}},
            _pi("toolResult", {"type": "text", "text": text}),
        ],
        other=lambda text: [
            _pi("user", {"type": "text", "text": text}),
            _pi("assistant", {"type": "thinking", "thinking": text, "text": text}, stopReason="stop"),
            {"type": "message_update", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}},
        ],
        end=lambda text: [{"type": "agent_end", "messages": [{"role": "assistant", "content": [{"text": text}]}]}],
    ),
}
