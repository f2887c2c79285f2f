"""Control groups (Linux, version 2), where this person may make one: the kernel ends all that is in it at once."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
ENDS_ALL = "cgroup.kill"
PREFIX = "ralph-"
YOUNG = 60.0  # seconds: a newer group may still get its first process


def made(brand: int) -> Path | None:
    """Make a group inside that of this process; None where that is impossible. It is empty at first."""
    home = _home()
    if home is None:
        return None
    _remove_left(home)
    group = home / f"{PREFIX}{brand:x}"
    try:
        group.mkdir()
    except OSError:
        return None
    if (group / ENDS_ALL).exists():  # Linux 5.14
        return group
    with suppress(OSError):  # another run may have removed it, because it was empty
        group.rmdir()
    return None


def end(group: Path) -> None:
    """Kill all that is in a group and in the groups inside it, and remove them."""
    with suppress(OSError):
        (group / ENDS_ALL).write_text("1")
    for _ in range(50):  # what was killed may take a moment to go
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106 - os.walk gives strings
        if not group.exists():
            return
        time.sleep(0.02)


def _remove_left(home: Path) -> None:
    """Remove the empty groups of runs whose warden was ended too."""
    for group in home.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is not empty
            if group.stat().st_mtime < time.time() - YOUNG:
                group.rmdir()


def _home() -> Path | None:
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:  # noqa: PTH123 - read at each start
            path = next(line[3:].strip() for line in file if line.startswith("0::/"))
    except (OSError, StopIteration):
        return None
    if ".." in path:  # it is outside of what this process may see
        return None
    folders = (Path(f"{mount}{path}") for mount in MOUNTS)
    return next((folder for folder in folders if os.access(folder / "cgroup.procs", os.W_OK)), None)
