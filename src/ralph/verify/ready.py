"""Decides when a service is ready: it answers a GET, accepts a connection, or prints a line."""

from __future__ import annotations

import asyncio
import re
import ssl
from urllib.parse import urlsplit

from ralph import limits
from ralph.text import strip_ansi

PAUSE = 0.1
PATIENCE = 5.0
MAX_LINE = 1 << 16
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


class Output:
    """Searches a service's output for one line."""

    def __init__(self, ready: str) -> None:
        self._wanted = re.compile(ready.removeprefix("log:")) if ready.startswith("log:") else None
        self._line = ""
        self.said = asyncio.Event()

    def hear(self, data: bytes) -> None:
        if self._wanted is None or self.said.is_set():
            return
        *lines, self._line = (self._line + data.decode(errors="replace")).replace("\r", "\n").split("\n")
        self._line = self._line[-MAX_LINE:]
        if any(self._wanted.search(strip_ansi(line)[: limits.SEARCHED]) for line in (*lines, self._line)):
            self.said.set()


async def until_ready(ready: str, output: Output) -> None:
    """Wait until the service is ready, without a limit."""
    if ready.startswith("log:"):
        await output.said.wait()
        return
    while not await is_ready(ready):  # noqa: ASYNC110 - another process sets no event
        await asyncio.sleep(PAUSE)


async def is_ready(ready: str) -> bool:
    """Return whether the service is ready now; always False for one that only reports it in its output."""
    if ready.startswith("log:"):
        return False
    return await (_connects(ready) if ready.startswith("tcp://") else _answers(ready))


def local_port(ready: str) -> int | None:
    """Return the local port on which a service should listen, if its `ready` setting names one."""
    if ready.startswith("log:"):
        return None
    try:
        parts = urlsplit(ready)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return port if parts.hostname in LOOPBACK else None


async def _connects(address: str) -> bool:
    try:
        parts = urlsplit(address)
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.transport.abort()
    return True


async def _answers(url: str) -> bool:
    """Return whether a GET is answered with success or a redirect."""
    writer = None
    try:
        parts = urlsplit(url)
        host = parts.hostname or "localhost"
        context = _tls(host) if parts.scheme == "https" else None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        async with asyncio.timeout(PATIENCE):
            port = parts.port or (443 if context else 80)
            reader, writer = await asyncio.open_connection(host, port, ssl=context)
            writer.write(request.encode())
            status = (await reader.readline()).split(maxsplit=2)
        return len(status) > 1 and status[0].startswith(b"HTTP/") and b"200" <= status[1] < b"400"
    except (OSError, TimeoutError, ValueError):
        return False
    finally:
        if writer:
            writer.transport.abort()


def _tls(host: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if host in LOOPBACK:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
