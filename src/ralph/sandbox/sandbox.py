"""The sandbox of a run: chosen once, then put around every agent, gate, hook, service and set-up command."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from ralph.config import Config
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.sandbox.backends import Backend, choose
from ralph.sandbox.caches import known_caches
from ralph.sandbox.credentials import credentials, listening_sockets
from ralph.sandbox.forwarder import PORT
from ralph.sandbox.paths import leads_astray, readable, writable
from ralph.sandbox.permissions import Network, Permissions, is_there
from ralph.sandbox.proxy import Proxy, host_and_port, persons_proxy, serving
from ralph.workspace import Workspace, cache_folder, common_git_dir, data_folder

TAKEN_AWAY = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "GIT_TRACE2_EVENT")
"""Variables that name what cannot be reached from inside; git's trace tells of changes that are impossible there."""
Refused = Callable[[str, str], None]
"""Hears of a host that a proxy refused: the setting that does not name it, and the host."""
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
NO_PROXY = ("NO_PROXY", "no_proxy")


class SandboxedProgram(Frozen):
    """The sandbox around one program. See `process/enclosure.py`."""

    backend: Backend
    permissions: Permissions

    @property
    def has_processes(self) -> bool:
        return self.backend.has_processes

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]:
        program = (Path(argv[0]),) if argv[0].startswith(os.sep) else ()  # it may be in a folder that is replaced
        return self.backend.command(replace(self.permissions, shown=(*self.permissions.shown, *program)), argv, cwd)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in env.items() if name not in TAKEN_AWAY}
        if self.backend.has_processes:
            kept["IS_SANDBOX"] = "1"  # without it, Claude Code refuses to work as root
        network = self.permissions.network
        if network.is_open or not network.has_hosts:
            return kept
        address = f"http://127.0.0.1:{PORT if self.backend.has_network else network.port}"
        return {**kept, **dict.fromkeys(PROXY_VARIABLES, address), **dict.fromkeys(NO_PROXY, "")}


class Sandbox(Frozen):
    """What all programs of a run have in common; without a backend they run as they are."""

    backend: Backend | None = None
    caches: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    agents: Network = field(default_factory=Network)
    gates: Network = field(default_factory=Network)
    proxy: Proxy | None = None  # of gates, if their network is closed

    @property
    def has_exceptions(self) -> bool:
        return self.backend is not None and self.backend.has_exceptions

    @property
    def hidden_from_all(self) -> tuple[Path, ...]:
        """What exists here and no program in the sandbox can read."""
        return tuple(path for path in self.hidden if is_there(path) and path not in self.shown)

    def around_agent(
        self,
        *paths: Path,
        temporary: Path,
        state: tuple[Path, ...] = (),
        read_only: tuple[Path, ...] = (),
        shown: tuple[Path, ...] = (),
    ) -> SandboxedProgram | None:
        """Enclose an agent that may write these paths and its own state, and may read what is `shown`."""
        around = replace(self, shown=(*self.shown, *shown))
        return around._around(paths, temporary, self.agents, state, read_only)

    def around_gate(
        self,
        *paths: Path,
        temporary: Path | None = None,
        services: Iterable[int] = (),
        read_only: tuple[Path, ...] = (),
    ) -> SandboxedProgram | None:
        """Enclose a gate or a hook; it reaches these ports of the run's services, whatever is configured."""
        network = self.gates
        if self.proxy:
            network = replace(network, services=tuple(services))
            for port in network.services:
                self.proxy.allow_service(port)
        return self._around(paths, temporary, network, (), read_only)

    def around_setup(
        self, *paths: Path, temporary: Path | None = None, read_only: tuple[Path, ...] = ()
    ) -> SandboxedProgram | None:
        """Enclose a set-up command, which downloads, or a service, which this machine must reach."""
        return self._around(paths, temporary, Network(), (), read_only)

    def around_browser(self, folder: Path) -> SandboxedProgram | None:
        """Enclose the browser, which writes its folder and opens pages on this machine."""
        return self._around((), folder, Network(), (), ())

    def _around(
        self,
        paths: tuple[Path, ...],
        temporary: Path | None,
        network: Network,
        state: tuple[Path, ...],
        read_only: tuple[Path, ...],
    ) -> SandboxedProgram | None:
        if self.backend is None:
            return None
        state = tuple(path for path in state if not leads_astray(path, Path.home()))
        theirs = {path.resolve() for path in state}
        permissions = Permissions(
            writable=(*self.caches, *paths, *state),
            read_only=read_only,
            hidden=tuple(path for path in self.hidden if path.resolve() not in theirs) if theirs else self.hidden,
            shown=self.shown,
            temporary=temporary,
            network=network,
        )
        return SandboxedProgram(backend=self.backend, permissions=permissions)


def prepared(config: Config, workspace: Workspace, states: Sequence[Path]) -> Sandbox:
    """Choose a sandbox and check its settings; `states` is where agents keep their state."""
    settings, home = config.sandboxing, Path.home()
    backend = choose(settings.use, closes=(settings.network, settings.gate_network) != ("full", "full"))
    if backend is None:
        return Sandbox()
    kept = (workspace.root, data_folder(), cache_folder(), *filter(None, [common_git_dir(workspace.root)]))
    for where, provider in config.every_provider:
        writable(f"{where}.state", provider.state or (), home, kept)
    if not persons_proxy():  # otherwise only the person's proxy knows the names
        _check_names("sandbox.network", settings.network)
        _check_names("sandbox.gateNetwork", settings.gate_network)
    caches = settings.caches
    return Sandbox(
        backend=backend,
        caches=known_caches(os.environ) if caches is None else writable("sandbox.caches", caches, home, kept),
        hidden=(*credentials(home), *listening_sockets(home, workspace.root), *states, data_folder(), cache_folder()),
        shown=(*_needed(workspace, home), *readable("sandbox.readable", settings.readable, home, kept[1:3])),
    )


@asynccontextmanager
async def opened(
    config: Config, workspace: Workspace, states: Sequence[Path], refused: Refused
) -> AsyncIterator[Sandbox]:
    """Open a sandbox with its proxies; `refused` hears of each host that one of them refuses."""
    sandbox, settings = prepared(config, workspace, states), config.sandboxing
    async with AsyncExitStack() as stack:
        if sandbox.backend:
            agents, _ = await _network(stack, "sandbox.network", settings.network, refused)
            gates, proxy = await _network(stack, "sandbox.gateNetwork", settings.gate_network, refused)
            sandbox = replace(sandbox, agents=agents, gates=gates, proxy=proxy)
        yield sandbox


def _needed(workspace: Workspace, home: Path) -> tuple[Path, ...]:
    """Return what programs need to run, wherever it is: it may be in a folder that the sandbox replaces."""
    programs = (Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep))
    own = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1])
    return (workspace.root, home, *own, *(folder for folder in programs if folder.is_absolute()))


async def _network(
    stack: AsyncExitStack, where: str, wanted: str | tuple[str, ...], refused: Refused
) -> tuple[Network, Proxy | None]:
    if wanted == "full":
        return Network(), None
    names = () if isinstance(wanted, str) else wanted
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ralph-proxy-")))
    proxy = await stack.enter_async_context(serving(names, folder / "socket", partial(refused, where), where))
    return Network(is_open=False, socket=folder / "socket", port=proxy.port, has_hosts=bool(names)), proxy


def _check_names(where: str, names: str | tuple[str, ...]) -> None:
    for index, name in enumerate(() if isinstance(names, str) else names):
        try:
            socket.getaddrinfo(host_and_port(name)[0], None)
        except OSError as error:
            raise RalphError(
                f"{where}[{index}]: {name!r} does not resolve: {error.strerror}.",
                remedy="Fix the name, or connect to the network, then run again.",
            ) from None
