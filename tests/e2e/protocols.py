"""The four model APIs that agents speak: what a request says, and how an answer is written in each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Json = dict[str, Any]
Usage = tuple[int, int]  # tokens in and out
ServerEvent = tuple[str, Json | str]  # a name, or "" for an API without names, and its data

SHELL_TOOLS = ("bash", "shell", "exec_command", "shell_command", "run_shell_command", "developer__shell")
SYSTEM_ROLES = ("system", "developer")
COMMAND_ARGUMENTS = ("command", "cmd")
BLANKS: Json = {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model: words, a tool call, both, or an error."""

    text: str = ""
    tool: str = ""
    arguments: Json = field(default_factory=dict)
    shell: str = ""  # a command for the agent's shell tool, whatever its name
    usage: Usage = (10, 5)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    is_cut: bool = False  # the connection breaks in the middle of the answer


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    name: str
    arguments: Json


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A turn as one agent gets it: with the tool names of its own request."""

    model: str
    number: int
    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage

    @property
    def parts(self) -> Iterator[tuple[str, ToolCall | None]]:
        if self.text:
            yield self.text, None
        for call in self.calls:
            yield "", call


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a request says, whatever the API."""

    model: str
    is_stream: bool
    prompt: tuple[str, ...]  # what was said before the model's first answer
    texts: tuple[str, ...]  # all that was said to the model, with the results of its tools
    tools: Mapping[str, Json]  # the tools that the agent offers, with their schemas

    def answer(self, turn: Turn, number: int) -> Answer:
        calls = []
        if turn.tool:
            calls.append(ToolCall(name=turn.tool, arguments=turn.arguments))
        if turn.shell:
            calls.append(self._shell(turn.shell))
        return Answer(model=self.model, number=number, text=turn.text, calls=tuple(calls), usage=turn.usage)

    def _shell(self, command: str) -> ToolCall:
        """The agent's shell tool, called with the argument names of its own schema."""
        name = next(name for wanted in SHELL_TOOLS for name in self.tools if name.lower() == wanted)
        schema = self.tools[name]
        properties: Json = schema.get("properties", {})
        key = next((key for key in COMMAND_ARGUMENTS if key in properties), "command")
        is_list = str(properties.get(key, {}).get("type", "")).lower() == "array"
        given: Json = {key: ["bash", "-lc", command] if is_list else command}
        for other in schema.get("required", ()):
            given.setdefault(other, _blank(properties.get(other, {})))
        return ToolCall(name=name, arguments=given)


def _blank(schema: Json) -> object:
    if schema.get("enum"):
        return schema["enum"][0]
    return BLANKS.get(str(schema.get("type", "")).lower(), "as scripted")


class ModelApi(Protocol):
    errors: Mapping[int, str]

    def question(self, path: str, body: Json) -> Question: ...

    def whole(self, answer: Answer) -> Json: ...

    def events(self, answer: Answer) -> Iterator[ServerEvent]: ...

    def error(self, kind: str, status: int, message: str) -> Json: ...


def texts_in(content: object) -> list[str]:
    """Every text in a message's content, in any of the shapes that the APIs allow."""
    match content:
        case str():
            return [content]
        case list():
            return [text for block in content for text in texts_in(block)]
        case dict():
            found = (content[key] for key in ("text", "content", "output", "parts", "response") if key in content)
            return texts_in(next(found, None))
        case _:
            return []


class Anthropic:
    """`POST /v1/messages`."""

    errors: Mapping[int, str] = {
        401: "authentication_error",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }

    def question(self, path: str, body: Json) -> Question:
        messages = body.get("messages", ())
        return Question(
            model=body.get("model", ""),
            is_stream=bool(body.get("stream")),
            prompt=_before(messages, "assistant"),
            texts=tuple(text for message in messages for text in texts_in(message.get("content"))),
            tools={tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or ()},
        )

    def whole(self, answer: Answer) -> Json:
        blocks: list[Json] = []
        for index, (text, call) in enumerate(answer.parts):
            used = {"id": f"toolu_{answer.number:04}_{index}"}
            blocks.append(
                {"type": "tool_use", **used, "name": call.name, "input": call.arguments}
                if call
                else {"type": "text", "text": text}
            )
        return {
            "id": f"msg_{answer.number:04}",
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": blocks,
            "stop_reason": "tool_use" if answer.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": answer.usage[0], "output_tokens": answer.usage[1]},
        }

    def events(self, answer: Answer) -> Iterator[ServerEvent]:
        for event in self._events(self.whole(answer)):
            yield event["type"], event

    def _events(self, message: Json) -> Iterator[Json]:
        begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
        yield {"type": "message_start", "message": begun}
        for index, block in enumerate(message["content"]):
            empty: Json
            if block["type"] == "text":
                empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": block | empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
        yield {"type": "message_stop"}

    def error(self, kind: str, status: int, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}}


OPENAI_ERRORS = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error", 529: "server_error"}


class OpenAI:
    errors: Mapping[int, str] = OPENAI_ERRORS

    def error(self, kind: str, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


class ChatCompletions(OpenAI):
    """`POST …/chat/completions`."""

    def question(self, path: str, body: Json) -> Question:
        messages = [
            message for message in body.get("messages", ()) if message.get("role") not in ("system", "developer")
        ]
        functions = [tool.get("function", {}) for tool in body.get("tools") or ()]
        return Question(
            model=body.get("model", ""),
            is_stream=bool(body.get("stream")),
            prompt=_before(messages, "assistant"),
            texts=tuple(text for message in messages for text in texts_in(message.get("content"))),
            tools={function.get("name", ""): function.get("parameters", {}) for function in functions},
        )

    def whole(self, answer: Answer) -> Json:
        message = {"role": "assistant", "content": answer.text or None, "tool_calls": self._calls(answer)}
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        return {**self._head(answer, "chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def events(self, answer: Answer) -> Iterator[ServerEvent]:
        head = self._head(answer, "chat.completion.chunk")
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": answer.text}] if answer.text else []
        deltas += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(self._calls(answer))]
        for delta in deltas:
            yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(answer)}]}
        yield "", {**head, "choices": [], "usage": self._usage(answer)}
        yield "", "[DONE]"

    def _head(self, answer: Answer, kind: str) -> Json:
        return {"id": f"chatcmpl-{answer.number:04}", "object": kind, "created": 1, "model": answer.model}

    def _calls(self, answer: Answer) -> list[Json]:
        return [
            {
                "id": f"call_{answer.number:04}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for index, call in enumerate(answer.calls)
        ]

    def _usage(self, answer: Answer) -> Json:
        used, made = answer.usage
        return {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}


class Responses(OpenAI):
    """`POST …/responses`."""

    def question(self, path: str, body: Json) -> Question:
        items = body.get("input") or []
        said = [item for item in items if item.get("role") not in SYSTEM_ROLES]
        return Question(
            model=body.get("model", ""),
            is_stream=bool(body.get("stream")),
            prompt=_before(said, "assistant"),
            texts=tuple(text for item in said for text in texts_in(item)),
            tools={tool["name"]: tool.get("parameters", {}) for tool in body.get("tools") or () if "name" in tool},
        )

    def whole(self, answer: Answer) -> Json:
        used, made = answer.usage
        return {
            **self._head(answer),
            "status": "completed",
            "output": list(self._items(answer)),
            "usage": {
                "input_tokens": used,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": made,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": used + made,
            },
        }

    def events(self, answer: Answer) -> Iterator[ServerEvent]:
        yield self._event("created", response=self._head(answer))
        for index, item in enumerate(self._items(answer)):
            yield self._event("output_item.done", output_index=index, item=item)
        yield self._event("completed", response=self.whole(answer))

    def _event(self, name: str, **fields: object) -> ServerEvent:
        return f"response.{name}", {"type": f"response.{name}", **fields}

    def _head(self, answer: Answer) -> Json:
        return {"id": f"resp_{answer.number:04}", "object": "response", "created_at": 1, "model": answer.model}

    def _items(self, answer: Answer) -> Iterator[Json]:
        for index, (text, call) in enumerate(answer.parts):
            name = f"{answer.number:04}_{index}"
            if call:
                arguments = json.dumps(call.arguments)
                yield {"type": "function_call", "call_id": f"call_{name}", "name": call.name, "arguments": arguments}
            else:
                content = [{"type": "output_text", "text": text, "annotations": []}]
                yield {"type": "message", "role": "assistant", "id": f"msg_{name}", "content": content}


class Gemini:
    """`POST …/models/<model>:streamGenerateContent`."""

    errors: Mapping[int, str] = {
        401: "UNAUTHENTICATED",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        529: "UNAVAILABLE",
    }

    def question(self, path: str, body: Json) -> Question:
        said = body.get("contents", ())
        groups = [group.get("functionDeclarations") or () for group in body.get("tools") or ()]
        return Question(
            model=path.rpartition("/")[2].partition(":")[0],
            is_stream=path.endswith(":streamGenerateContent"),
            prompt=_before(said, "model"),
            texts=tuple(text for message in said for text in texts_in(message)),
            tools={tool["name"]: tool.get("parametersJsonSchema") or {} for group in groups for tool in group},
        )

    def whole(self, answer: Answer) -> Json:
        parts = [
            {"functionCall": {"name": call.name, "args": call.arguments}} if call else {"text": text}
            for text, call in answer.parts
        ]
        used, made = answer.usage
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": used, "candidatesTokenCount": made, "totalTokenCount": used + made},
            "modelVersion": answer.model,
        }

    def events(self, answer: Answer) -> Iterator[ServerEvent]:
        yield "", self.whole(answer)

    def error(self, kind: str, status: int, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": kind}}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _before(messages: Any, role: str) -> tuple[str, ...]:
    """What was said before the model's first answer."""
    found: list[str] = []
    for message in messages:
        if message.get("role") == role or message.get("type") == "function_call":
            break
        found += texts_in(message.get("content", message.get("parts")))
    return tuple(found)


def api_for(path: str) -> ModelApi | None:
    if path.endswith("/messages"):
        return Anthropic()
    if path.endswith("/chat/completions"):
        return ChatCompletions()
    if path.endswith("/responses"):
        return Responses()
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return Gemini()
    return None
