"""Stands before every request: what is not in the table of routes, or not allowed there, goes no further."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.text import one_line
from ralph.web.address import Origins
from ralph.web.session import COOKIE, Doorkeeper

MAX_BODY = 32_768
MAX_FIELDS = 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class RouteAccess(Enum):
    """What a route needs."""

    PUBLIC = "public"  # nothing: signing in, and files that are the same for everyone
    READ = "read"  # a good cookie
    ACTION = "action"  # a good cookie, a page of the dashboard itself, and no --read-only
    ONCE = "once"  # a token that is used up by it, and no --read-only


class WebRequest(Frozen):
    """A request that was let in, as plain data."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    headers: Mapping[str, str]


Handler = Callable[[WebRequest], Response | Awaitable[Response]]
Find = Callable[[str, str], "tuple[RouteAccess, Handler, Mapping[str, str]] | None"]
"""What a method and a path lead to: None if the table has no such route."""


class WebGuard:
    """The whole application: every request passes these checks, or ends here."""

    def __init__(self, find: Find, doorkeeper: Doorkeeper, origins: Origins, *, read_only: bool) -> None:
        self._find = find
        self._doorkeeper = doorkeeper
        self._origins = origins
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        answer = await self._answer(scope, receive)
        await answer(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive) -> ASGIApp:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._origins.knows_host(host):
            return refusal(421, "Not here", "This dashboard does not answer to that host name.")
        method, path = scope["method"], scope["raw_path"].decode(errors="replace").partition("?")[0]
        found = self._find("GET" if method == "HEAD" else method, path)
        if found is None or found[0] not in (RouteAccess.PUBLIC, RouteAccess.ONCE):
            if not self._doorkeeper.knows(cookie_of(headers)):
                return refusal(401, "Sign in", "Open the link that `ralph ui` printed. It works once, in one browser.")
            if found is None:
                return refusal(404, "Not found", "There is no such page.")
        access, handler, parts = found
        form: Mapping[str, str] = {}
        if access in (RouteAccess.ACTION, RouteAccess.ONCE) and self._read_only:
            return refusal(403, "Read-only", "This dashboard was started with --read-only.")
        if access is RouteAccess.ACTION:
            if not self._origins.knows_origin(headers.get("origin", ""), host):
                return refusal(403, "Refused", "The request did not come from a page of this dashboard.")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            body = await _body(receive) if kind == "application/x-www-form-urlencoded" else None
            if body is None:
                return refusal(413, "Too much", "The request is too long, or not a form.")
            form = _pairs(body.decode(errors="replace"))
        query = _pairs(scope["query_string"].decode(errors="replace"))
        request = WebRequest(path=parts, query=query, form=form, headers=headers)
        try:
            answer = await run_in_threadpool(handler, request)
            return await answer if isinstance(answer, Awaitable) else answer
        except RalphError as error:
            return refusal(
                409, "This cannot be read", " ".join(filter(None, (error.what, *error.details, error.remedy)))
            )


def refusal(status: int, title: str, text: str) -> Response:
    """Return a small page that says why there is nothing here."""
    text = escape(one_line(text))
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title} · Ralph</title><main><h1>{title}</h1><p>{text}</p></main></html>\n"
    )
    return HTMLResponse(page, status_code=status)


def cookie_of(headers: Mapping[str, str]) -> str:
    """Return the cookie of a request; empty if it has none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _pairs(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        return {}


async def _body(receive: Receive) -> bytes | None:
    """Read a request's body; None if it is too long."""
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None  # the client is gone
        data += message.get("body", b"")
        if len(data) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(data)


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return answer
