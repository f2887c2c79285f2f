"""The proxy between programs in a sandbox and the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ralph.sandbox.proxy import MAX_OPEN, MAX_TOLD, Proxy, host_and_port, serving


class Heard:
    """A server on loopback that keeps each request, and what the proxy refused."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.refused: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    @asynccontextmanager
    async def behind(self, folder: Path, *allowed: str) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        names = [name.format(port=self.port) for name in allowed]
        async with serving(names, folder / "socket", self.refused.append) as proxy:
            yield proxy
        server.close()


async def asked(proxy: Proxy, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(request.encode())
    said = await reader.read()
    writer.close()
    return said.decode()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


@pytest.fixture(autouse=True)
def no_proxy_of_the_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("a.example", ("a.example", 0)), ("A.example.:8080", ("a.example", 8080)), ("[::1]", ("::1", 0)),
     ("[::1]:80", ("::1", 80))],
)  # fmt: skip
def test_a_name_has_a_host_and_perhaps_a_port(name: str, parts: tuple[str, int]) -> None:
    assert host_and_port(name) == parts


def test_a_request_reaches_the_server_as_the_server_expects_it(tmp_path: Path) -> None:
    heard = Heard()

    async def ask() -> None:
        async with heard.behind(tmp_path, "127.0.0.1:{port}") as proxy:
            url = f"http://127.0.0.1:{heard.port}/a?b=c"
            said = await asked(proxy, f"GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: y\r\n\r\n")
            assert said.endswith("hello")

    run(ask())
    assert heard.requests == ["GET /a?b=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]


@pytest.mark.parametrize(
    "request_line",
    ["GET http://elsewhere.example/ HTTP/1.1", "CONNECT elsewhere.example:443 HTTP/1.1",
     "CONNECT elsewhere.example HTTP/1.1"],
)  # fmt: skip
def test_another_host_is_refused_with_a_word_and_told_once(tmp_path: Path, request_line: str) -> None:
    heard = Heard()

    async def ask() -> None:
        async with heard.behind(tmp_path, "127.0.0.1:{port}") as proxy:
            for _ in range(2):
                said = await asked(proxy, f"{request_line}\r\n\r\n")
                assert said.startswith("HTTP/1.1 403") and "does not allow elsewhere.example" in said

    run(ask())
    assert heard.refused == ["elsewhere.example"] and not heard.requests


def test_what_programs_say_cannot_fill_or_forge_the_journal(tmp_path: Path) -> None:
    heard = Heard()

    async def ask() -> None:
        async with heard.behind(tmp_path) as proxy:
            for number in range(2 * MAX_TOLD):
                await asked(proxy, f"CONNECT h{number}.example:443 HTTP/1.1\r\n\r\n")
            await asked(proxy, "CONNECT \x1b[31mred:443 HTTP/1.1\r\n\r\n")
            await asked(proxy, "nonsense\r\n\r\n")

    run(ask())
    assert len(heard.refused) == MAX_TOLD
    assert not any("\x1b" in name for name in heard.refused)


def test_only_so_many_connections_are_open_and_it_works_again_afterwards(tmp_path: Path) -> None:
    heard = Heard()

    async def ask() -> None:
        async with heard.behind(tmp_path, "127.0.0.1:{port}") as proxy:
            flood = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(MAX_OPEN + 20)]
            ends = [asyncio.ensure_future(reader.read(1)) for reader, _ in flood]
            done, waiting = await asyncio.wait(ends, timeout=0.5)
            assert (len(done), len(waiting)) == (20, MAX_OPEN)
            for _, writer in flood:
                writer.close()
            await asyncio.gather(*ends)
            assert "hello" in await asked(proxy, f"GET http://127.0.0.1:{heard.port}/ HTTP/1.1\r\n\r\n")

    run(ask())


def test_connections_go_through_the_persons_own_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()

    async def ask() -> None:
        async with heard.behind(tmp_path):
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:pa%20ss@127.0.0.1:{heard.port}")
            async with serving(["far.example"], tmp_path / "second", heard.refused.append) as proxy:
                assert "hello" in await asked(proxy, "CONNECT far.example:443 HTTP/1.1\r\n\r\n")

    run(ask())
    assert heard.requests == [
        "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\nProxy-Authorization: Basic bWU6cGEgc3M=\r\n\r\n"
    ]


def test_a_host_in_no_proxy_is_reached_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "other.example, .0.0.1")

    async def ask() -> None:
        async with heard.behind(tmp_path, "127.0.0.1") as proxy:
            assert "hello" in await asked(proxy, f"GET http://127.0.0.1:{heard.port}/ HTTP/1.1\r\n\r\n")

    run(ask())
