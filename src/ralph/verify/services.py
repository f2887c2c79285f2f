"""Services that UI checks need: started, watched, restarted, always ended."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import safe_files
from ralph.config import Service
from ralph.errors import RalphError
from ralph.process import ports, spawn
from ralph.process.child import Child
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.verify.output import useful
from ralph.verify.ready import Output, is_ready, local_port, until_ready

PORT = "RALPH_PORT"


class ServiceFailure(Exception):
    """A service is not up; the text says which, why, and its last output."""


def assign_ports(services: Iterable[Service]) -> dict[str, int]:
    """Assign a free port to each service that asks for one with ${RALPH_PORT}."""
    return {one.name: ports.free_port() for one in services if PORT in f"{one.start} {one.ready}"}


def port_variables(assigned: Mapping[str, int]) -> dict[str, str]:
    """Return the variables for gates, agents and services: RALPH_PORT for the first, RALPH_PORT_<NAME> for each."""
    named = {f"{PORT}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}": str(port) for name, port in assigned.items()}
    first = {PORT: str(next(iter(assigned.values())))} if assigned else {}
    return first | named


@dataclass
class _RunningService:
    child: Child
    stack: AsyncExitStack
    log: Path
    flush: Callable[[], object]
    output: Output

    @property
    def end(self) -> str:
        """How it ended."""
        code = self.child.code or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def last_words(self) -> str:
        self.flush()
        words = useful(self.log)
        return f"\n\n{words}" if words else ""


@dataclass
class Services:
    """All services of a run; leaving the block ends those that Ralph started, with all their children."""

    services: tuple[Service, ...]
    cwd: Path
    logs: Path
    owner: str
    started: Callable[[Service, float], None]
    secrets: Secrets = field(repr=False)
    noted: Callable[[str], None] = lambda text: None
    borrows: bool = True  # use a service that is already up; False: only one that runs in `cwd` may answer
    environment: Mapping[str, str] | None = None  # the environment of services; None: everything in the person's shell
    within: Enclosure | None = None  # the sandbox around each service
    _ports: dict[str, int] = field(default_factory=dict)
    _running: dict[str, _RunningService] = field(default_factory=dict)
    _noted_once: set[str] = field(default_factory=set)
    _lives: int = 0

    def __post_init__(self) -> None:
        self._ports = assign_ports(self.services)
        self.services = tuple(self._with_port(service) for service in self.services)

    def _with_port(self, service: Service) -> Service:
        port = str(self._ports.get(service.name, ""))
        return replace(service, ready=service.ready.replace(f"${{{PORT}}}", port))

    @property
    def variables(self) -> dict[str, str]:
        return port_variables(self._ports)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of this machine on which the services should listen."""
        named = (local_port(service.ready) for service in self.services)
        return tuple(dict.fromkeys((*self._ports.values(), *filter(None, named))))

    @property
    def url(self) -> str:
        """The URL of the application: that of the first service with one; "" if there is none."""
        return next((service.ready for service in self.services if service.ready.startswith("http")), "")

    async def __aenter__(self) -> Services:
        return self

    async def __aexit__(self, *_: object) -> None:
        await spawn.to_the_end(self.end_all())

    async def end_all(self) -> None:
        for name in list(self._running):
            await self._end(name)

    async def prepare(self) -> None:
        """Start all services in the order of the configuration; restart those that ask for it."""
        for service in self.services:
            await self._prepare(service)

    def check_alive(self) -> None:
        """Raise an error if a service that Ralph started has died since."""
        for name, running in self._running.items():
            if not running.child.running():
                how = f"died during the checks ({running.end})"
                raise ServiceFailure(f"The service {name!r} {how}.{running.last_words()}")

    async def _prepare(self, service: Service) -> None:
        ours = self._running.get(service.name)
        if ours and ours.child.running() and not service.restart_before_verify:
            await self._wait(service, ours)
        elif not ours and self._may_borrow(service) and await is_ready(service.ready):
            self._tell_whose(service)
        elif service.start is None:
            raise ServiceFailure(_absent(service))
        else:
            if ours and not ours.child.running():
                how = f"died after its last check ({ours.end})"
                self.noted(f"The service {service.name!r} {how}. Ralph starts it again.")
            await self._end(service.name)
            taken = _taken(service)
            if taken:
                raise ServiceFailure(taken)
            await self._start(service, service.start)

    def _tell_whose(self, service: Service) -> None:
        """Report once that a running service is used; it may be out of date, and Ralph does not restart it."""
        if service.start is None or service.name in self._noted_once:
            return
        self._noted_once.add(service.name)
        port = local_port(service.ready)
        holder = ports.holder(port) if port else None
        whose = f", from {holder}" if holder and holder.pid else ""
        text = f"The service {service.name!r} is already running at {service.ready}{whose}"
        self.noted(f"{text}. Ralph uses it as it is, and does not restart or stop it.")

    def _may_borrow(self, service: Service) -> bool:
        """Return whether a running service may be used; another program on a local port would serve other files."""
        return self.borrows or service.start is None or local_port(service.ready) is None

    async def _start(self, service: Service, command: str) -> None:
        self._lives += 1
        log = self.logs / f"service-{service.name}-{self._lives}.log"
        redactor = self.secrets.log_stream()
        output = Output(service.ready)
        stack = AsyncExitStack()
        file = stack.enter_context(safe_files.open_new(log, buffering=0))

        def flush() -> None:
            file.write(redactor.flush())

        def hear(data: bytes) -> None:
            file.write(redactor.feed(data))
            output.hear(data)

        stack.callback(flush)
        own = {PORT: str(self._ports[service.name])} if service.name in self._ports else {}
        child = await stack.enter_async_context(
            spawn.spawn(
                ["/bin/sh", "-c", command],
                cwd=self.cwd,
                env={**(os.environ if self.environment is None else self.environment), **self.variables, **own},
                owner=self.owner,
                out=hear,
                grace=3.0,
                within=self.within,
            )
        )
        running = _RunningService(child=child, stack=stack, log=log, flush=flush, output=output)
        self._running[service.name] = running
        try:
            await self._wait(service, running)
        except ServiceFailure:
            await self._end(service.name)
            raise

    async def _wait(self, service: Service, running: _RunningService) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        ready = asyncio.ensure_future(until_ready(service.ready, running.output))
        ended = asyncio.ensure_future(running.child.exited())
        try:
            await asyncio.wait((ready, ended), timeout=service.ready_timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in (ready, ended):
                waiting.cancel()
            await asyncio.gather(ready, ended, return_exceptions=True)
        if not running.child.running():
            how = f"ended with {running.end} before it was ready"
            raise ServiceFailure(f"The service {service.name!r} {how}.{running.last_words()}")
        if ready.cancelled():
            raise ServiceFailure(
                f"The service {service.name!r} {_missing(service.ready)} within {service.ready_timeout:g} s."
                f"{running.last_words()}"
            )
        self.started(service, loop.time() - began)

    async def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running:
            await running.stack.aclose()


async def check_before(service: Service) -> None:
    """Check that a service can start in a working copy, or is up if the person starts it."""
    if service.start is None:
        if not await is_ready(service.ready):
            raise RalphError(_absent(service), remedy="Start the service, then run again.")
        return
    taken = "" if PORT in service.ready else _taken(service)
    if taken:
        raise RalphError(
            taken,
            remedy=f"Stop that program. Or give the service a free port: use ${PORT} in its start and "
            f"${{{PORT}}} in its ready. Or, if you start it yourself, remove its start.",
        )


def _absent(service: Service) -> str:
    return (
        f"The service {service.name!r} does not respond at {service.ready}. It has no start command, "
        "so you must start it yourself."
    )


def _taken(service: Service) -> str:
    """Return why a service cannot start: another program listens on its port."""
    port = local_port(service.ready)
    holder = ports.holder(port) if port else None
    return f"The service {service.name!r} cannot start: {holder} is using port {port}." if holder else ""


def _missing(ready: str) -> str:
    if ready.startswith("log:"):
        return f"did not print {ready.removeprefix('log:')!r}"
    return f"did not respond at {ready}"
