"""Runs the dashboard until somebody stops it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from ralph.frozen import Frozen
from ralph.web.address import Address, Origins, listen
from ralph.web.buttons import Buttons
from ralph.web.entrance import Entrance
from ralph.web.feed import Feed
from ralph.web.forms import Forms
from ralph.web.guard import WebGuard
from ralph.web.pages import Pages
from ralph.web.project import CommandFacts, WebProject
from ralph.web.reading import ProjectReader
from ralph.web.render import link
from ralph.web.routes import Route, Router, table
from ralph.web.session import Doorkeeper
from ralph.web.stream import Hub

MAX_CONNECTIONS = 600


class Dashboard(Frozen):
    """A dashboard that is ready to be served."""

    app: WebGuard
    hub: Hub
    routes: tuple[Route, ...]
    base: str
    doorkeeper: Doorkeeper
    readers: tuple[ProjectReader, ...]

    def link(self, origin: str) -> str:
        """Return a link that lets one browser in, once."""
        return f"{origin}{self.base}{link('in', self.doorkeeper.new_link())}"

    def close(self) -> None:
        for reader in self.readers:
            reader.histories.close()


def build(
    projects: tuple[WebProject, ...], commands: CommandFacts, address: Address, port: int, *, read_only: bool
) -> Dashboard:
    """Put a dashboard together; nothing listens yet."""
    about = "\0".join(str(project.workspace.root) for project in projects)
    doorkeeper = Doorkeeper(about)
    base = f"/{doorkeeper.place}"
    readers = tuple(ProjectReader(project, commands) for project in projects)
    hub = Hub(Feed(reader) for reader in readers)
    pages = Pages(readers, hub, base, read_only=read_only)
    entrance = Entrance(doorkeeper, base, is_secure=address.is_secure)
    routes = table(entrance, pages, Forms(pages, doorkeeper, base), Buttons(readers), hub)
    app = WebGuard(Router(base, routes).find, doorkeeper, Origins(address, port), read_only=read_only)
    return Dashboard(app=app, hub=hub, routes=routes, base=base, doorkeeper=doorkeeper, readers=readers)


def serve(
    projects: tuple[WebProject, ...],
    commands: CommandFacts,
    address: Address,
    *,
    read_only: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve until a signal asks to stop; `ready` gets the sign-in link when browsers are let in."""
    with listen(address) as door:
        port = door.getsockname()[1]
        dashboard = build(projects, commands, address, port, read_only=read_only)
        try:
            asyncio.run(_serve(dashboard, address, door, ready))
        finally:
            dashboard.close()


async def _serve(dashboard: Dashboard, address: Address, door: socket.socket, ready: Callable[[str], None]) -> None:
    config = uvicorn.Config(
        dashboard.app,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        ssl_certfile=address.cert or None,
        ssl_keyfile=address.key or None,
    )
    server = _Server(config, dashboard.hub)
    following = asyncio.create_task(dashboard.hub.run())
    serving = asyncio.create_task(server.serve(sockets=[door]))
    started = asyncio.create_task(server.begun.wait())
    try:
        await asyncio.wait((started, serving), return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            ready(dashboard.link(_origin(address, door.getsockname()[1])))
        await asyncio.wait((following, serving), return_when=asyncio.FIRST_COMPLETED)
        for one in (following, serving):
            if one.done():
                one.result()  # it did not end because somebody asked: say why
    finally:
        server.end()
        started.cancel()
        following.cancel()
        await asyncio.gather(started, following, serving, return_exceptions=True)


class _Server(uvicorn.Server):
    """A server that ends its streams before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub
        self._closing: asyncio.Task[None] | None = None
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun.set()

    def end(self) -> None:
        self.should_exit = True
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._hub.close())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(one, self.end)
        try:
            yield
        finally:
            for one in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(one)


def _origin(address: Address, port: int) -> str:
    if address.proxy:
        return address.proxy.rstrip("/")
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(address.host, address.host)
    return f"{address.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
