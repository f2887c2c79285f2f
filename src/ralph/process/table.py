"""The machine's process table: who stems from whom, and which of our marks a process carries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MARK = "_CHILD_MARK"
"""Every child carries this variable, and its own children inherit it: that is how leftovers are found."""


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One row of the machine's process table."""

    pid: int
    parent: int
    group: int
    session: int
    dead: bool
    inode: int = field(default=0, compare=False)  # of its folder: a later process with this number has another one


def table() -> list[ProcessEntry]:
    return read(present()) if Path("/proc/self/stat").exists() else table_elsewhere()


def present() -> set[tuple[int, int]]:
    """Every process of the machine: its number and the inode of its folder."""
    with os.scandir("/proc") as found:
        return {(int(folder.name), folder.inode()) for folder in found if folder.name.isdigit()}


def read(processes: Iterable[tuple[int, int]]) -> list[ProcessEntry]:
    """The rows of these processes, as far as they are still there."""
    entries = []
    for pid, inode in processes:
        stat = _read(f"/proc/{pid}/stat")
        if stat:
            state, parent, group, session = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
            entries.append(ProcessEntry(pid, int(parent), int(group), int(session), state in b"ZX", inode))
    return entries


def births() -> int:
    """Changes whenever a process is born; 0 where the system does not tell."""
    return int((_read("/proc/loadavg").split() or [b"0"])[-1])


def _read(path: str) -> bytes:
    """A short file of the kernel's, with no object made for it: this runs for every process of the machine."""
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
    """The mark a process carries, or None if it has none or may not be looked at."""
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
    """This process and all that it stems from, the nearest first."""
    parents = {entry.pid: entry.parent for entry in table()}
    found, pid = [], os.getpid()
    while pid and pid not in found:
        found.append(pid)
        pid = parents.get(pid, 0)
    return found


def birth_of(pid: int) -> str:
    """When a process began, in a form that tells it from a later one with the same number; empty if it is gone."""
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
