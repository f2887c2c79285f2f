"""What `ralph watch` costs on a large plan whose agent never stops talking."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench.measure import CannotRun, folder
from bench.project import RALPH, RUN, Project
from bench.table import Row

TASKS, SECONDS, WARM = 1_000, 10.0, 4.0
PACE = 10  # MB a second
LINE = "The agent reads a file, thinks about it, and says what it is going to do next.."
AGENT = f"""#!/bin/sh
cat > /dev/null
while :; do yes '{LINE}' | head -c 1000000; sleep 0.09; done
"""


def rows() -> list[Row]:
    if not Path("/proc/self/stat").exists():
        raise CannotRun("there is no /proc here")
    with folder() as place:
        project = Project(place, stories=TASKS, agent=AGENT)
        run = subprocess.Popen(RUN, cwd=project.path, env=project.env, stdin=subprocess.DEVNULL)
        try:
            _wait(lambda: list(project.path.glob(".ralph/logs/*/*.words.txt")))
            first, share, before, after = _measure(project)
        finally:
            run.send_signal(signal.SIGINT)
            run.wait()
    about = f"{TASKS:,} tasks, {PACE} MB/s"
    return [
        Row(group="watch", what=f"watch: of one core, {about}", measured=share, unit="%", limit=15, parts={}),
        Row(
            group="watch",
            what=f"watch: memory after {SECONDS:.0f} s more, {about}",
            measured=after - before,
            unit="MB",
            limit=2,
            parts={"before": before, "after": after},
            parts_unit="MB",
        ),
        Row(
            group="watch",
            what=f"watch: until the first screen, {TASKS:,} tasks",
            measured=first,
            unit="ms",
            limit=1500,
            parts={},
        ),
    ]


def _measure(project: Project) -> tuple[float, float, float, float]:
    """The first screen in milliseconds, the share of a core in percent, and the memory in MB before and after."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    env = {**project.env, "TERM": "xterm-256color"}
    began = time.monotonic()
    watch = subprocess.Popen([RALPH, "watch"], cwd=project.path, env=env, stdin=follower, stdout=follower)
    os.close(follower)
    os.set_blocking(leader, False)
    seen = b""
    try:
        while b"tab gates" not in seen:
            seen += _read(leader)
        first = (time.monotonic() - began) * 1e3
        _drain(leader, WARM)
        memory, used, began = _memory(watch.pid), _processor(watch.pid), time.monotonic()
        _drain(leader, SECONDS)
        share = (_processor(watch.pid) - used) / (time.monotonic() - began) * 100
        return first, share, memory, _memory(watch.pid)
    finally:
        watch.terminate()
        watch.wait()
        os.close(leader)


def _wait(condition: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError("the agent does not begin")
        time.sleep(0.05)


def _drain(leader: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _read(leader)


def _read(leader: int) -> bytes:
    time.sleep(0.02)
    with suppress(BlockingIOError):
        return os.read(leader, 1 << 16)
    return b""


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
