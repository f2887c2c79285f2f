"""An HTTP server on loopback that takes notifications, and behaves as badly as it is asked to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class NotifyServer:
    """What it was sent; the first part of a path chooses how it answers."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]

    def url(self, path: str, user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}/{path}"

    @contextmanager
    def running(self) -> Iterator[NotifyServer]:
        thread = threading.Thread(target=self._http.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def _handler(server: NotifyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.paths.append(self.path)
            server.headers.append(dict(self.headers))
            server.got.append(json.loads(data))
            try:
                getattr(self, f"_{self.path.strip('/').partition('/')[0]}", self._ok)()
            except OSError:
                pass  # whoever sent it is gone

        def _ok(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"id": "secret answer"}')

        def _broken(self) -> None:
            self.send_response(500, "my-secret-reason-1234")
            self.end_headers()

        def _loop(self) -> None:
            self.send_response(302)
            self.send_header("Location", self.path)
            self.end_headers()

        def _silent(self) -> None:
            server.over.wait(60)

        def _drip(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not server.over.wait(0.05):
                self.wfile.write(b"X")

        def _huge(self) -> None:
            self.send_response(200)
            self.end_headers()
            while not server.over.is_set():
                self.wfile.write(bytes(1 << 16))

        def _flood(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not server.over.is_set():
                self.wfile.write(b"X: " + b"y" * 60_000 + b"\r\n")

        def _garbage(self) -> None:
            self.wfile.write(b"\0\1\2 not HTTP \r\n\r\n")

        def _closed(self) -> None:
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    return Handler
