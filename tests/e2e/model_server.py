"""A model that says what a test tells it to, on loopback, in each of the APIs that agents speak."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.e2e.protocols import Json, ModelApi, Question, Turn, Usage, api_for

CONVERSATION = ("x-claude-code-session-id", "x-claude-code-agent-id")  # a sub-agent has one of its own
COUNTERS = ("/count_tokens", ":countTokens")


def say(*lines: str, usage: Usage = (10, 5)) -> Turn:
    return Turn(text="\n".join(lines), usage=usage)


def call(tool: str, *, text: str = "", usage: Usage = (10, 5), **arguments: object) -> Turn:
    return Turn(text=text, tool=tool, arguments=arguments, usage=usage)


def write(path: object, content: str, *, usage: Usage = (10, 5)) -> Turn:
    """A call of Claude Code's tool for files."""
    return call("Write", file_path=str(path), content=content, usage=usage)


def bash(command: str, *, text: str = "", usage: Usage = (10, 5)) -> Turn:
    """A call of the agent's own shell tool, whatever its name."""
    return Turn(text=text, shell=command, usage=usage)


def refuse(status: int, message: str, **headers: str) -> Turn:
    """An HTTP error; `retry_after="3"` becomes a header."""
    return Turn(status=status, text=message, headers={name.replace("_", "-"): value for name, value in headers.items()})


HANG = Turn(text="too late", delay=3600)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an agent asked of the model."""

    path: str
    headers: dict[str, str]
    body: Json
    question: Question

    @property
    def side(self) -> bool:
        """Whether it is a title, a summary or a question about the quota: it offers no tools."""
        return not self.question.tools

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was said to the model in this conversation so far, tool results included."""
        return self.question.texts


class ModelServer:
    """Each conversation has its own turns; one that continues after its last turn gets that turn again.

    `about` has the turns of conversations whose prompt contains a text, for agents that run in parallel. While
    `outage` is set, every request gets that answer and no turn is used.
    """

    def __init__(self, *conversations: Sequence[Turn], about: Mapping[str, Sequence[Turn]] | None = None) -> None:
        self._waiting = list(conversations)
        self._about = dict(about or {})
        self._under_way: dict[str, list[Turn]] = {}
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._numbers = itertools.count(1)
        self.outage: Turn | None = None
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
        self.close()

    def close(self) -> None:
        """Stop answering: from now on connections are refused."""
        if not self._closed.is_set():
            self._closed.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()

    def answer(self, request: Request) -> tuple[Turn, int]:
        """What the script has for a request, and the answer's number."""
        with self._guard:
            self.requests.append(request)
            turn = self.outage or (say("ok") if request.side else self._next(request))
            number = next(self._numbers)
        self._closed.wait(turn.delay)
        return turn, number

    def _next(self, request: Request) -> Turn:
        prompt = "\n".join(request.question.prompt)
        conversation = "/".join(request.headers.get(name, "") for name in CONVERSATION).strip("/") or prompt
        if conversation not in self._under_way:
            self._under_way[conversation] = list(self._begin(prompt))
        turns = self._under_way[conversation]
        return turns.pop(0) if len(turns) > 1 else turns[0]

    def _begin(self, prompt: str) -> Sequence[Turn]:
        for text in self._about:
            if text in prompt:
                return self._about.pop(text)
        return self._waiting.pop(0) if self._waiting else [say("Nothing is left.")]


def _server_event(name: str, data: Json | str) -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def _handler(server: ModelServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = {"id": "mock-model", "object": "model", "type": "model", "created": 0, "owned_by": "test"}
            self._send(200, {"object": "list", "data": [listed], "models": [], "has_more": False})

        def do_POST(self) -> None:
            body = json.loads(self._body() or b"{}")
            path = self.path.partition("?")[0]
            try:
                api = api_for(path)
                if path.endswith(COUNTERS):
                    self._send(200, {"input_tokens": 10, "totalTokens": 10})
                elif api:
                    self._ask(api, path, body)
                else:
                    self._send(404, {"error": {"message": path}})
            except ConnectionError:
                pass  # the agent was ended while it waited for its answer

        def _body(self) -> bytes:
            if "content-length" in self.headers:
                return self.rfile.read(int(self.headers["content-length"]))
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def _ask(self, api: ModelApi, path: str, body: Json) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            question = api.question(path, body)
            turn, number = server.answer(Request(path=path, headers=headers, body=body, question=question))
            if turn.status != 200:
                kind = api.errors.get(turn.status, "invalid_request_error")
                self._send(turn.status, api.error(kind, turn.status, turn.text), turn.headers)
                return
            answer = question.answer(turn, number)
            if not question.is_stream:
                self._send(200, api.whole(answer))
                return
            text = "".join(
                (f"event: {name}\n" if name else "")
                + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                for name, data in api.events(answer)
            )
            self._send_text(text, is_cut=turn.is_cut)

        def _send(self, status: int, document: Json, headers: Mapping[str, str] | None = None) -> None:
            data = json.dumps(document).encode()
            self.send_response(status)
            named = {"content-type": "application/json", "content-length": str(len(data))}
            for name, value in {**named, **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _send_text(self, text: str, *, is_cut: bool) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if is_cut else data)
            if is_cut:
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
