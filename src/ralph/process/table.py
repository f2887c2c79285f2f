"""The machine's process table: parents, descendants, and the marks that processes carry."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MARK = "_CHILD_MARK"
"""The variable that every child gets and its own children inherit; Ralph finds leftover processes by it."""


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One row of the machine's process table."""

    pid: int
    parent: int
    group: int
    session: int
    dead: bool
    inode: int = field(default=0, compare=False)  # of its /proc folder: differs for a later process with this pid


def table() -> list[ProcessEntry]:
    return read(present()) if Path("/proc/self/stat").exists() else table_elsewhere()


def present() -> set[tuple[int, int]]:
    """Return every process of the machine, as pid and inode of its /proc folder."""
    with os.scandir("/proc") as found:
        return {(int(folder.name), folder.inode()) for folder in found if folder.name.isdigit()}


def read(processes: Iterable[tuple[int, int]]) -> list[ProcessEntry]:
    """Return the rows of these processes, except those that have ended."""
    entries = []
    for pid, inode in processes:
        stat = read_file(f"/proc/{pid}/stat")
        if stat:
            state, parent, group, session = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
            entries.append(ProcessEntry(pid, int(parent), int(group), int(session), state in b"ZX", inode))
    return entries


def births() -> int:
    """Return a value that changes whenever a process starts; 0 if the system does not tell."""
    return int((read_file("/proc/loadavg").split() or [b"0"])[-1])


def read_file(path: str) -> bytes:
    """Read a short kernel file without creating objects, because this runs for every process of the machine."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def table_elsewhere() -> list[ProcessEntry]:
    import psutil

    entries = []
    for process in psutil.process_iter(["pid", "ppid", "status"]):
        pid = process.info["pid"]
        try:
            group, session = os.getpgid(pid), os.getsid(pid)
        except OSError:
            continue
        dead = process.info["status"] == psutil.STATUS_ZOMBIE
        entries.append(ProcessEntry(pid, process.info["ppid"] or 0, group, session, dead))
    return entries


def with_descendants(entries: list[ProcessEntry], roots: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry.pid)
    members: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in members:
            members.add(pid)
            waiting += children.get(pid, [])
    return members


def mark_of(pid: int) -> str | None:
    """Return the mark of a process; None if it has none or cannot be read."""
    if Path("/proc/self/environ").exists():
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return None
        wanted = MARK.encode() + b"="
        return next((item[len(wanted) :].decode() for item in variables if item.startswith(wanted)), None)
    import psutil

    try:
        return psutil.Process(pid).environ().get(MARK)
    except (psutil.Error, OSError):
        return None


def lineage() -> list[int]:
    """Return this process and all of its ancestors, nearest first."""
    parents = {entry.pid: entry.parent for entry in table()}
    found, pid = [], os.getpid()
    while pid and pid not in found:
        found.append(pid)
        pid = parents.get(pid, 0)
    return found


def birth_of(pid: int) -> str:
    """Return when a process started, which distinguishes it from a later one with the same pid; "" if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        state, *fields = stat[stat.rindex(b")") + 2 :].split()
        return "" if state in b"ZX" else fields[18].decode()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    except OSError:
        return ""
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.Error:
        return ""
