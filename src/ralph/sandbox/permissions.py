"""What a program in a sandbox may write, read and talk to: plain data, the same for every kind of sandbox."""

from __future__ import annotations

import os
from enum import Enum, auto
from pathlib import Path

from ralph.frozen import Frozen


class Network(Frozen):
    """Whom a program may talk to: everybody, nobody, or whom a proxy lets through."""

    is_open: bool = True
    socket: Path | None = None  # the proxy, for a program with a network of its own
    port: int = 0  # the same proxy on loopback, for a program that shares this machine's network
    has_hosts: bool = False  # whether the proxy lets anything through but services
    services: tuple[int, ...] = ()  # ports of the run's services on this machine

    @property
    def is_passed_on(self) -> bool:
        """Whether there is anything that a program with a network of its own reaches through the proxy."""
        return self.socket is not None and (self.has_hosts or bool(self.services))


class Access(Enum):
    """What a program may do with a path and with everything below it; an inner path decides for itself."""

    HIDE = auto()
    SHOW = auto()
    WRITE = auto()
    READ = auto()


class Permissions(Frozen):
    """Everything is readable but `hidden`, nothing is writable but `writable`."""

    writable: tuple[Path, ...]
    read_only: tuple[Path, ...] = ()  # exceptions below `writable`
    hidden: tuple[Path, ...] = ()  # credentials, and what Ralph keeps from agents
    shown: tuple[Path, ...] = ()  # exceptions below `hidden`, and what is needed from /tmp
    temporary: Path | None = None  # becomes its /tmp; None: one in memory
    network: Network = Network()

    @property
    def by_depth(self) -> list[tuple[Path, Access]]:
        """Every path with its access, outer folders first."""
        kinds = (self.hidden, self.shown, self.writable, self.read_only)
        found = {path: access for access, paths in zip(Access, kinds, strict=True) for path in paths}
        return sorted(found.items(), key=lambda item: len(item[0].parts))

    @property
    def present(self) -> Permissions:
        """The same with resolved paths, without those that do not exist."""
        return Permissions(
            writable=_present(self.writable),
            read_only=_present(self.read_only),
            hidden=_present(self.hidden),
            shown=_present(self.shown),
            temporary=self.temporary.resolve() if self.temporary else None,
            network=self.network,
        )


def _present(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return what the paths lead to. A mount needs the real path of something that exists."""
    return tuple(dict.fromkeys(path.resolve() for path in paths if is_there(path)))


def is_there(path: Path) -> bool:
    """Return whether a path leads to something; a folder that this user may not enter has nothing in it for them."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib's raises an error for such a folder


def is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(folder == path or folder in path.parents for folder in folders)
