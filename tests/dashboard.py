"""The dashboard in tests: requests without a server, the real command, and a real browser that looks at it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ralph import config
from ralph.cli.ui import facts
from ralph.verify.browser import find_chromium
from ralph.web.address import Address
from ralph.web.project import projects
from ralph.web.server import Dashboard, build
from tests.conftest import Project, wait_for

HOST = "127.0.0.1:4747"
ORIGIN = f"http://{HOST}"
FORM = "application/x-www-form-urlencoded"
CHECKS = Path(__file__).with_name("page_checks.js").read_text().strip()
need_browser = pytest.mark.skipif(
    not find_chromium(config.BrowserSettings()), reason="there is no Chrome or Chromium here"
)


def dashboard(*folders: Path, read_only: bool = False, address: Address | None = None) -> Dashboard:
    return build(projects(folders), facts(), address or Address(), 4747, read_only=read_only)


class Answer:
    """What came back for a request."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.headers = {name.decode().lower(): value.decode() for name, value in headers}
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(
    found: Dashboard, path: str, *, method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None,
    signed_in: bool = True, place: bool = True, pieces: int = 1,
) -> Answer:  # fmt: skip
    """Make a request of the application itself, as a server would."""
    given = {"host": HOST, **(headers or {})}
    if signed_in:
        given.setdefault("cookie", f"ralph_ui={found.doorkeeper.use(found.doorkeeper.new_link())}")
    raw, _, query = f"{found.base if place else ''}{path}".partition("?")
    scope = {
        "type": "http", "method": method, "path": raw, "raw_path": raw.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    size = -(-len(body) // pieces) or 1
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    with ThreadPoolExecutor(1) as other:  # a browser of this thread has an event loop of its own
        other.submit(asyncio.run, found.app(scope, receive, send)).result()  # type: ignore[arg-type]
    start = next(message for message in sent if message["type"] == "http.response.start")
    whole = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return Answer(start["status"], start["headers"], whole)


class Served:
    """A `ralph ui` that runs."""

    def __init__(self, process: subprocess.Popen[str], told: dict[str, Any]) -> None:
        self.process = process
        self.link = str(told["url"])
        self.base = self.link.rpartition("/in/")[0]
        self.port = urlsplit(self.link).port or 0


@contextmanager
def served(project: Project, *args: str) -> Iterator[Served]:
    """Run `ralph ui` until the end of the block."""
    process = project.start("ui", "--no-open", "--json", *args)
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("{"), line + process.stdout.read()
        yield Served(process, json.loads(line))
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=20)
        assert "Traceback" not in out, out


@contextmanager
def chromium() -> Iterator[Any]:
    """A real browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(config.BrowserSettings()), chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A browser that is signed in, and everything that went wrong in its pages."""

    def __init__(self, browser: Any, link: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.problems: list[str] = []
        self.base = link.rpartition("/in/")[0]
        page = self.page()
        page.goto(link)
        page.close()

    def page(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._heard)
        return page

    def open(self, path: str = "/", *, live: bool = True) -> Any:
        page = self.page()
        page.goto(f"{self.base}{path}")
        if live:
            page.wait_for_selector("#live[data-state=on]")
        return page

    def _heard(self, message: Any) -> None:
        if message.type == "error" and "ERR_CONNECTION" not in message.text and "ERR_INCOMPLETE" not in message.text:
            self.problems.append(message.text)


def overflow(page: Any) -> int:
    """How many pixels of the page are beside the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def check(page: Any, what: str) -> list[str]:
    """What a check of `page_checks.js` finds wrong with a page."""
    return list(page.evaluate(f"{CHECKS}.{what}()"))


def closed(process: subprocess.Popen[str]) -> bool:
    wait_for(lambda: process.poll() is not None)
    return process.returncode == 0
