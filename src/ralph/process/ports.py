"""TCP ports of this machine: finds a free one, or the process that holds one."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from ralph.frozen import Frozen

LOWEST, HIGHEST = 20_000, 32_000  # below the range that systems use for outgoing connections
LISTENING = "0A"

_given: set[int] = set()
"""Ports that this process has handed out, which may not be in use yet."""


class Holder(Frozen):
    """The process that listens on a port; pid 0 if the system does not tell."""

    pid: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})" if self.pid else "another program"


def free_port() -> int:
    """Return a port on which no process listens; never the same one twice."""
    for port in random.sample(range(LOWEST, HIGHEST), HIGHEST - LOWEST):
        if port not in _given and _can_listen(port):
            _given.add(port)
            return port
    raise OSError("no TCP port is free")


def holder(port: int) -> Holder | None:
    """Return the process that listens on a port of this machine; None if there is none."""
    if not Path("/proc/net/tcp").exists():
        return None if _can_listen(port) else Holder()
    sockets = {inode for name in ("tcp", "tcp6") for inode in _listening(Path("/proc/net", name), port)}
    return next((found for inode in sockets if (found := _owner(inode))), Holder()) if sockets else None


def _can_listen(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection that was just closed does not count
        try:
            trial.bind(("", port))
        except OSError:
            return False
    return True


def _listening(table: Path, port: int) -> list[str]:
    """Return the inodes of the sockets in the kernel's table that listen on a port."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port]


def _owner(inode: str) -> Holder | None:
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _has_open(process, f"socket:[{inode}]"):
            return Holder(pid=int(process.name), name=_name(process))
    return None


def _has_open(process: Path, wanted: str) -> bool:
    try:
        return any(str(entry.readlink()) == wanted for entry in (process / "fd").iterdir())
    except OSError:
        return False  # it has ended, or belongs to another user


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "a program"
