"""Records what happens in an open page: its requests, its console and its errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ralph.text import plain
from ralph.verify.ready import LOOPBACK

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Error, Frame, Request, Response
    from playwright.async_api import Page as Tab

ENDLESS = frozenset({"eventsource", "websocket", "ping", "media"})  # they do not mean that a page is still loading
# the browser's message about a failure that the request itself already reported
ABOUT_A_REQUEST = "Failed to load resource"
GIVEN_UP = "net::ERR_ABORTED"  # by the page itself
DOWNLOAD = "Download is starting"
NET = re.compile(r"net::ERR_\w+")
FRAME = re.compile(r"\b(https?://[^\s)]+?):(\d+):\d+\)?$", re.MULTILINE)
WORDS = {
    "net::ERR_TOO_MANY_REDIRECTS": "it redirects in a loop",
    "net::ERR_CONNECTION_REFUSED": "no program listens there",
    "net::ERR_CONNECTION_RESET": "the connection was reset",
    "net::ERR_EMPTY_RESPONSE": "the server closed the connection without a response",
    "net::ERR_NAME_NOT_RESOLVED": "the host does not exist",
    "net::ERR_CERT_AUTHORITY_INVALID": "its certificate is not trusted",
}


class PageProblem(NamedTuple):
    """A finding without its page."""

    kind: str
    text: str


def why_not_loaded(message: str) -> str:
    """Describe Playwright's error, with the browser's own code for it."""
    code = NET.search(message)
    if code:
        return f"{WORDS[code[0]]} ({code[0]})" if code[0] in WORDS else code[0]
    return message.splitlines()[0].removeprefix("Page.goto: ")


@dataclass
class PageWatch:
    """Listens to one open page."""

    url: str
    expected: frozenset[int] = frozenset()  # statuses that are not an error here
    quiet: asyncio.Event = field(default_factory=asyncio.Event)  # no request is open
    begun: int = 0
    loads: int = 0
    status: int | None = None
    crashed: bool = False
    is_download: bool = False
    _open: set[Request] = field(default_factory=set)
    _found: dict[PageProblem, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.quiet.set()

    def attach(self, tab: Tab) -> None:
        tab.on("request", self._request)
        tab.on("requestfinished", self._request_over)
        tab.on("requestfailed", self._request_failed)
        tab.on("response", self._response)
        tab.on("console", self._console)
        tab.on("pageerror", self._exception)
        tab.on("crash", self._crash)
        tab.on("framenavigated", self._navigated)

    def find(self, kind: str, text: str) -> None:
        self._found.setdefault(PageProblem(kind, plain(text).strip()))

    def found(self) -> list[PageProblem]:
        """Return every problem once, in the order it happened."""
        return list(self._found)

    def cannot_load(self, why: str) -> None:
        """Record that the page did not load, unless its status already says so. A download is not a page."""
        self.is_download = why == DOWNLOAD
        if self.is_download:
            return
        if not any(found.kind in ("status", "load") for found in self._found) and self.status not in self.expected:
            self.find("load", why)

    def see(self, seen: Mapping[str, Any]) -> None:  # the result of inspect_page.js
        for framework, text in seen["overlays"]:
            self.find("overlay", f"{framework}: {text}")
        if self.status in self.expected:
            return  # the page is supposed to show this error
        for text in seen["banners"]:
            self.find("banner", text)
        if seen["blank"] and not self._found:
            self.find("blank", "the page is blank: no text, no image, nothing to click")

    def _request(self, request: Request) -> None:
        if request.resource_type not in ENDLESS:
            self.begun += 1
            self._open.add(request)
            self.quiet.clear()

    def _request_over(self, request: Request) -> None:
        self._open.discard(request)
        if not self._open:
            self.quiet.set()

    def _request_failed(self, request: Request) -> None:
        self._request_over(request)
        why = request.failure or ""
        if request.resource_type != "document" and why != GIVEN_UP and self._is_own(request.url):
            self.find("request", f"{request.method} {self._short(request.url)}: {why_not_loaded(why)}")

    def _response(self, response: Response) -> None:
        request = response.request
        is_document = request.resource_type == "document"
        if is_document and self.status is None and not 300 <= response.status < 400:
            self.status = response.status
        if response.request.resource_type == "eventsource":
            self._request_over(request)
        if response.status < 400 or not self._is_own(response.url):
            return
        said = f"{response.status} {response.status_text}".strip()
        if is_document and response.status not in self.expected:
            where = "" if response.url == self.url else f" at {self._short(response.url)}"
            self.find("status", f"{said}{where}")
        elif not is_document and response.status not in self.expected:
            self.find("request", f"{request.method} {self._short(response.url)}: {said}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(ABOUT_A_REQUEST):
            place = message.location
            where = f" ({self._short(place['url'])}:{place['lineNumber'] + 1})" if place.get("url") else ""
            self.find("console", f"{message.text}{where}")

    def _exception(self, error: Error) -> None:
        frame = FRAME.search(error.stack or "")
        where = f" ({self._short(frame[1])}:{frame[2]})" if frame else ""
        name = f"{error.name}: " if error.name else ""
        self.find("exception", f"{name}{error.message}{where}")

    def _crash(self, _: Tab) -> None:
        self.crashed = True
        self._open.clear()
        self.quiet.set()
        self.find("crash", "the page crashed its browser process")

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self.loads += 1

    def _is_own(self, url: str) -> bool:
        """Return whether a resource belongs to the application; the browser itself requests `/favicon.ico`."""
        parts = urlsplit(url)
        return parts.path != "/favicon.ico" and (
            parts.hostname == urlsplit(self.url).hostname or parts.hostname in LOOPBACK
        )

    def _short(self, url: str) -> str:
        """Return a URL without the parts that it shares with the page's URL."""
        page, parts = urlsplit(self.url), urlsplit(url)
        return parts._replace(scheme="", netloc="").geturl() or "/" if parts.netloc == page.netloc else url
