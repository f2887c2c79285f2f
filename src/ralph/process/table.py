"""The machine's process table: who stems from whom, and which of our marks a process carries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MARK = "RALPH_CHILD"
"""Every child carries this variable, and its own children inherit it: that is how leftovers are found."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the machine's process table."""

    pid: int
    parent: int
    group: int
    session: int
    dead: bool


def table() -> list[Entry]:
    if not Path("/proc/self/stat").exists():
        return table_elsewhere()
    entries = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough, and this runs often
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_bytes()
            except OSError:
                continue
            state, parent, group, session = stat[stat.rindex(b")") + 2 :].split(maxsplit=4)[:4]
            entries.append(Entry(int(name), int(parent), int(group), int(session), state in b"ZX"))
    return entries


def table_elsewhere() -> list[Entry]:
    import psutil

    entries = []
    for process in psutil.process_iter(["pid", "ppid", "status"]):
        pid = process.info["pid"]
        try:
            group, session = os.getpgid(pid), os.getsid(pid)
        except OSError:
            continue
        dead = process.info["status"] == psutil.STATUS_ZOMBIE
        entries.append(Entry(pid, process.info["ppid"] or 0, group, session, dead))
    return entries


def with_descendants(entries: list[Entry], roots: set[int]) -> set[int]:
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
