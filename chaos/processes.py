"""Which processes belong to a round: those that work in its folder, or whose environment or arguments name it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

PATIENCE = 10.0
"""Seconds until everything of a run must have ended; the warden takes less than one on a machine that is not busy."""


def belonging(folder: Path) -> dict[int, str]:
    """The living processes of a round, each with its command."""
    found = {}
    name = os.fsencode(str(folder))
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                if name in command or name in (entry / "environ").read_bytes() or _works_in(entry, folder):
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue  # it has just ended, or is somebody else's
    return {pid: command for pid, command in found.items() if _is_alive(pid)}


def _works_in(entry: Path, folder: Path) -> bool:
    return f"{(entry / 'cwd').readlink()}/".startswith(f"{folder}/")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def warden_of(folder: Path, ralph: int) -> int:
    """The process that watches over a Ralph; 0 if there is none."""
    return next((pid for pid, command in belonging(folder).items() if f"warden.sh {ralph} " in command), 0)


def send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def all_ended(folder: Path, seconds: float) -> dict[int, str]:
    """Wait until no process of a round is left; what is left is killed and returned."""
    deadline = time.monotonic() + seconds
    while (left := belonging(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        send(pid, signal.SIGKILL)
    return left
