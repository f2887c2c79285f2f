"""The buttons of a notification: `ralph ui` does what they say, once, and only for what the person was told of."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from tests.conftest import Project, does
from tests.dashboard import served


@contextmanager
def ntfy() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server for messages, and what it got."""
    got: list[dict[str, Any]] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/topic", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def press(url: str, method: str = "POST") -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request(method, parts.path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def blocked(project: Project, url: str, port: int) -> None:
    """A run whose only story fails, which a phone is told."""
    notify = [{"to": "ntfy", "url": url, "ui": f"http://127.0.0.1:{port}", "on": ["blocked"]}]
    project.config("test -e good.txt", maxRetries=1, notify=notify)
    project.stories("One")
    project.script(does("US-001", "bad.txt"))
    project.ralph("run", "auth", "--no-baseline", code=3)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def buttons(got: list[dict[str, Any]]) -> list[str]:
    return [str(action["url"]) for message in got for action in message["actions"]]


def test_a_button_works_once_and_the_plan_is_changed_by_ralph_s_own_command(project: Project) -> None:
    port = free_port()
    with ntfy() as (url, got):
        blocked(project, url, port)
        [button] = buttons(got)
        assert got[0]["actions"][0]["label"] == "Retry US-001"
        with served(project, "--port", str(port)):
            assert press(button, "GET")[0] == 401, "a program that looks at the link does nothing"
            status, text = press(button)
            assert (status, "US-001" in text) == (200, True), text
            assert press(button)[0] == 404, "it is used up"
            assert press(f"http://127.0.0.1:{port}/once/guessed")[0] == 404
    [plan] = json.loads(project.ralph("status", "--json").stdout)
    assert plan["tasks"][0]["state"] == "pending"


def test_a_button_about_an_earlier_attempt_does_nothing(project: Project) -> None:
    port = free_port()
    with ntfy() as (url, got):
        blocked(project, url, port)
        project.ralph("retry", "auth", "US-001")
        project.ralph("run", "auth", "--no-baseline", code=3)
        first = buttons(got)[0]
        with served(project, "--port", str(port)):
            status, text = press(first)
    assert (status, "another attempt since you were told" in text) == (409, True), text
    assert project.story()["attempts"] == 2


def test_a_dashboard_that_is_read_only_has_no_buttons(project: Project) -> None:
    port = free_port()
    with ntfy() as (url, got):
        blocked(project, url, port)
        with served(project, "--port", str(port), "--read-only"):
            assert press(buttons(got)[0])[0] == 403
