"""A model that says what a test tells it to: the Anthropic Messages API on loopback, as far as an agent needs it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Usage = tuple[int, int]  # tokens in and out
CONVERSATION = ("x-claude-code-session-id", "x-claude-code-agent-id")  # a sub-agent has one of its own
ERRORS = {401: "authentication_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model: words, a tool call, both, or an error."""

    text: str = ""
    tool: str = ""
    arguments: Json = field(default_factory=dict)
    usage: Usage = (10, 5)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


def say(*lines: str, usage: Usage = (10, 5)) -> Turn:
    return Turn(text="\n".join(lines), usage=usage)


def call(tool: str, *, text: str = "", usage: Usage = (10, 5), **arguments: object) -> Turn:
    return Turn(text=text, tool=tool, arguments=arguments, usage=usage)


def write(path: object, content: str, *, usage: Usage = (10, 5)) -> Turn:
    return call("Write", file_path=str(path), content=content, usage=usage)


def bash(command: str, *, usage: Usage = (10, 5)) -> Turn:
    return call("Bash", command=command, description="As scripted", usage=usage)


def refuse(status: int, message: str, **headers: str) -> Turn:
    """An HTTP error; `retry_after="3"` becomes a header."""
    return Turn(status=status, text=message, headers={name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an agent asked of the model."""

    path: str
    headers: dict[str, str]
    body: Json
    side: bool  # without tools: a title, a summary, a look at the quota

    @property
    def texts(self) -> list[str]:
        """Everything that was said to the model in this conversation so far, tool results included."""
        return [text for message in self.body.get("messages", ()) for text in _texts(message.get("content"))]


def _texts(content: object) -> list[str]:
    match content:
        case str():
            return [content]
        case list():
            return [text for block in content for text in _texts(block.get("text", block.get("content")))]
        case _:
            return []


class ModelServer:
    """Each conversation has its own turns; one that goes on after its last turn gets that turn again."""

    def __init__(self, *conversations: Sequence[Turn]) -> None:
        self._waiting = list(conversations)
        self._under_way: dict[str, list[Turn]] = {}
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._numbers = itertools.count(1)
        self.requests: list[Request] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, headers: dict[str, str], body: Json) -> tuple[Turn, int]:
        """What the script has for a request, and the answer's number."""
        side = not body.get("tools")
        with self._guard:
            self.requests.append(Request(path=path, headers=headers, body=body, side=side))
            turn = say("ok") if side else self._next("/".join(headers.get(name, "") for name in CONVERSATION))
            number = next(self._numbers)
        self._closed.wait(turn.delay)
        return turn, number

    def _next(self, conversation: str) -> Turn:
        if conversation not in self._under_way:
            self._under_way[conversation] = list(self._waiting.pop(0)) if self._waiting else [say("Nothing is left.")]
        turns = self._under_way[conversation]
        return turns.pop(0) if len(turns) > 1 else turns[0]


def _handler(server: ModelServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            path = self.path.partition("?")[0]
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                if path == "/v1/messages/count_tokens":
                    self._send(200, "application/json", json.dumps({"input_tokens": 10}))
                elif path == "/v1/messages":
                    self._answer(body, *server.answer(path, headers, body))
                else:
                    self._send(404, "application/json", json.dumps(_error("not_found_error", path)))
            except ConnectionError:
                pass  # the agent was ended while it waited for its answer

        def _answer(self, body: Json, turn: Turn, number: int) -> None:
            if turn.status != 200:
                error = _error(ERRORS.get(turn.status, "invalid_request_error"), turn.text)
                self._send(turn.status, "application/json", json.dumps(error), turn.headers)
            elif body.get("stream"):
                self._send(200, "text/event-stream", _stream(_message(body, turn, number)))
            else:
                self._send(200, "application/json", json.dumps(_message(body, turn, number)))

        def _send(self, status: int, kind: str, text: str, headers: dict[str, str] | None = None) -> None:
            data = text.encode()
            self.send_response(status)
            for name, value in {"content-type": kind, "content-length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _message(body: Json, turn: Turn, number: int) -> Json:
    content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    if turn.tool:
        content.append({"type": "tool_use", "id": f"toolu_{number:04}", "name": turn.tool, "input": turn.arguments})
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": "tool_use" if turn.tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": turn.usage[0], "output_tokens": turn.usage[1]},
    }


def _stream(message: Json) -> str:
    """The message as server-sent events, each block in one piece."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        empty: Json
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": block | empty})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": message["usage"]}, {"type": "message_stop"}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
