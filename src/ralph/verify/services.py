"""Services that must be up while UI stories are checked: started, watched, restarted, always ended."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ralph.config import Service
from ralph.process import environment, spawn
from ralph.process.spawn import Child
from ralph.verify.output import useful

PAUSE = 0.1
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ServiceFailure(Exception):
    """A service is not up; the text says which, why, and its last words."""


@dataclass
class _Running:
    child: Child
    stack: AsyncExitStack
    log: Path
    flush: Callable[[], object]

    def last_words(self) -> str:
        self.flush()
        return useful(self.log)


@dataclass
class Services:
    """All services of a run; leaving the block ends those we started, with all their children."""

    services: tuple[Service, ...]
    cwd: Path
    logs: Path
    owner: str
    started: Callable[[Service, float], None]
    _running: dict[str, _Running] = field(default_factory=dict)
    _lives: int = 0

    async def __aenter__(self) -> Services:
        return self

    async def __aexit__(self, *_: object) -> None:
        await spawn.to_the_end(self._end_all())

    async def _end_all(self) -> None:
        for name in list(self._running):
            await self._end(name)

    async def prepare(self) -> None:
        """Everything up, and fresh where that is wanted."""
        for service in self.services:
            await self._prepare(service)

    def check_alive(self) -> None:
        """None of those we started has died since."""
        for name, running in self._running.items():
            if not running.child.running():
                raise ServiceFailure(f"The service {name!r} died during the checks.\n\n{running.last_words()}")

    async def _prepare(self, service: Service) -> None:
        ours = self._running.get(service.name)
        if service.start is None:
            if not await is_ready(service.ready):
                raise ServiceFailure(
                    f"The service {service.name!r} does not answer at {service.ready}, and it has no start "
                    "command: a person is to start it."
                )
        elif ours and ours.child.running() and not service.restart_before_verify:
            await self._wait(service, ours)
        elif ours or not await is_ready(service.ready):
            await self._end(service.name)
            await self._start(service, service.start)

    async def _start(self, service: Service, command: str) -> None:
        self._lives += 1
        log = self.logs / f"service-{service.name}-{self._lives}.log"
        redactor = environment.Redactor(environment.secrets_in(os.environ))
        stack = AsyncExitStack()
        log.unlink(missing_ok=True)  # an agent may have put something there
        file = stack.enter_context(log.open("xb", buffering=0))

        def flush() -> None:
            file.write(redactor.flush())

        stack.callback(flush)
        child = await stack.enter_async_context(
            spawn.spawn(
                ["/bin/sh", "-c", command],
                cwd=self.cwd,
                env=os.environ,
                owner=self.owner,
                out=lambda data: file.write(redactor.feed(data)),
                grace=3.0,
            )
        )
        running = _Running(child=child, stack=stack, log=log, flush=flush)
        self._running[service.name] = running
        await self._wait(service, running)

    async def _wait(self, service: Service, running: _Running) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await is_ready(service.ready):
            if not running.child.running():
                code = await running.child.exited()
                raise ServiceFailure(
                    f"The service {service.name!r} ended with exit code {code} before it was ready."
                    f"\n\n{running.last_words()}"
                )
            if loop.time() - began > service.ready_timeout:
                raise ServiceFailure(
                    f"The service {service.name!r} did not answer at {service.ready} within "
                    f"{service.ready_timeout:g} s.\n\n{running.last_words()}"
                )
            await asyncio.sleep(PAUSE)
        self.started(service, loop.time() - began)

    async def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running:
            await running.stack.aclose()


async def is_ready(url: str) -> bool:
    """Whether a GET is answered with success or a redirect."""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    context = _tls(host) if parts.scheme == "https" else None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    writer = None
    try:
        async with asyncio.timeout(5):
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
