"""A small proxy that connects programs in a sandbox only to the hosts that the configuration names."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from ralph.config_sandbox import HOST

MAX_HEAD = 1 << 16
CHUNK = 1 << 16
SECONDS = 30.0
MAX_OPEN = 128  # connections at once: Ralph needs its descriptors for other things
MAX_TOLD = 50
PORTS = {"http": 80, "https": 443}
LOCALHOST = "localhost"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def host_and_port(name: str) -> tuple[str, int]:
    """Return the parts of HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT; the port is 0 if there is none."""
    parts = urlsplit(f"//{name}")
    return (parts.hostname or "").rstrip("."), parts.port or 0


@dataclass
class Proxy:
    """Speaks HTTP and CONNECT; everything else, and every other host, is refused."""

    allowed: set[tuple[str, int]]  # port 0: every port
    refused: Callable[[str], None]  # hears of each refused host once
    setting: str = "sandbox.network"  # where a person can add a host
    parent: SplitResult | None = None  # the person's own proxy, through which connections go
    port: int = 0
    _told: set[str] = field(default_factory=set)
    _open: int = 0

    def allow_service(self, port: int) -> None:
        """Let programs reach a service of the run on this machine."""
        self.allowed.add((LOCALHOST, port))

    def allows(self, host: str, port: int) -> bool:
        return not self.allowed.isdisjoint({(host, 0), (host, port)})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection of a program."""
        self._open += 1
        try:
            if self._open > MAX_OPEN:
                return
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._answer(head, reader, writer)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the program went away, or does not speak HTTP
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, url, *_ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{url}" if is_tunnel else url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or PORTS.get(parts.scheme, PORTS["https"])
        if not self.allows(host, port):
            self._refuse(host, writer)
            return
        try:
            async with asyncio.timeout(SECONDS):
                there = await self._connect(host, port)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            return
        if is_tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            there[1].write(_to_origin(head, method, parts.path or "/", parts.query))
        await _join((reader, writer), there)

    def _refuse(self, host: str, writer: asyncio.StreamWriter) -> None:
        name = host if HOST.fullmatch(host) else "that address"
        if name not in self._told and len(self._told) < MAX_TOLD:
            self._told.add(name)
            self.refused(name)
        text = f"Ralph's sandbox does not allow {name}. The person can add it to {self.setting}.\n".encode()
        head = f"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
        writer.write(head.encode() + text)

    async def _connect(self, host: str, port: int) -> Streams:
        if self.parent is None or _is_direct(host):
            return await asyncio.open_connection(host, port)
        reader, writer = await asyncio.open_connection(self.parent.hostname, self.parent.port or PORTS["http"])
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        writer.write(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n{_credentials(self.parent)}\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer.split(b"\r\n", 1)[0] + b" ":
            writer.close()
            raise OSError("the proxy refused the connection")
        return reader, writer


def _is_direct(host: str) -> bool:
    """Return whether a person's own proxy is not used for a host."""
    given = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    names = [name.strip().lstrip(".").lower() for name in given.split(",")]
    return host == LOCALHOST or any(name and (name == "*" or f".{host}".endswith(f".{name}")) for name in names)


def _credentials(parent: SplitResult) -> str:
    if parent.username is None:
        return ""
    given = f"{unquote(parent.username)}:{unquote(parent.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(given.encode()).decode()}\r\n"


def _to_origin(head: bytes, method: str, path: str, query: str) -> bytes:
    """Return a request as the server itself expects it; the connection serves this one request."""
    lines = head.split(b"\r\n")[1:-2]
    kept = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:", b"keep-alive:"))]
    first = f"{method} {path}{f'?{query}' if query else ''} HTTP/1.1".encode("latin-1")
    return b"\r\n".join((first, *kept, b"Connection: close", b"", b""))


async def _join(one: Streams, two: Streams) -> None:
    """Copy both directions to their ends."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK):
                target.write(data)
                await target.drain()
            if target.can_write_eof():
                target.write_eof()

    try:
        await asyncio.gather(copy(one[0], two[1]), copy(two[0], one[1]))
    finally:
        two[1].close()


def persons_proxy() -> str:
    """Return the URL of the proxy through which the person's own programs go; "" if there is none."""
    return os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""


@asynccontextmanager
async def serving(
    names: Iterable[str], socket: Path, refused: Callable[[str], None], setting: str = "sandbox.network"
) -> AsyncIterator[Proxy]:
    """Serve on a socket in the file system and on a free port of loopback, until the block ends."""
    parent = persons_proxy()
    proxy = Proxy(
        allowed={host_and_port(name) for name in names},
        refused=refused,
        setting=setting,
        parent=urlsplit(parent if "//" in parent else f"//{parent}") if parent else None,
    )
    by_socket = await asyncio.start_unix_server(proxy.serve, str(socket), limit=MAX_HEAD)
    by_port = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=MAX_HEAD)
    proxy.port = by_port.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        by_socket.close()
        by_port.close()
