"""What the warden and the check of the approval cost."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from statistics import median

from bench.measure import CannotRun, alternate, folder, seconds
from bench.project import Project
from bench.table import Row
from ralph import config as configuration
from ralph.cli import trusting
from ralph.process.warden import SCRIPT, guarding
from ralph.workspace import Workspace

ROUNDS = 41


def rows() -> list[Row]:
    if not sys.platform.startswith("linux"):
        raise CannotRun("the memory of a warden is read from /proc")
    with folder() as place:
        return [*asyncio.run(_warden()), _trust(place)]


async def _warden() -> list[Row]:
    """The best of each: what disturbs one only ever makes it longer."""
    times, memory, processor = [], [], []
    for number in range(ROUNDS):
        used = sum(os.times()[:4])
        times.append(seconds(lambda owner=f"bench-{number}": _guarded(owner, memory)))
        processor.append(sum(os.times()[:4]) - used)
        await asyncio.sleep(0.02)
    return [
        Row(
            group="guard",
            what="guard: starting a warden and sending it away",
            measured=min(times) * 1000,
            unit="ms",
            limit=10,
            aim=3,
            parts={"median": median(times) * 1000, "processor": sum(processor) / ROUNDS * 1000},
        ),
        Row(
            group="guard",
            what="guard: memory of a warden",
            measured=max(memory) / 1000,
            unit="MB",
            limit=10,
            parts={"most": max(memory), "least": min(memory)},
            parts_unit="kB",
        ),
    ]


def _guarded(owner: str, memory: list[int]) -> None:
    with guarding(owner):
        if len(memory) < 3:
            memory.append(_resident())


def _resident() -> int:
    """The memory of the warden of this process, in kilobytes."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[1:3] == [os.fsencode(SCRIPT), str(os.getpid()).encode()]:
                status = (entry / "status").read_text()
                return int(status.partition("VmRSS:")[2].split()[0])
        except (OSError, IndexError):
            continue
    raise RuntimeError("there is no warden")


def _trust(place: Path) -> Row:
    """With an approval that holds, as almost always."""
    project = Project(place / "trust", stories=1)
    workspace = Workspace(root=project.path)
    kept = {name: os.environ.get(name) for name in ("XDG_DATA_HOME", trusting.TRUST)}
    os.environ["XDG_DATA_HOME"] = str(place / "data")
    os.environ.pop(trusting.TRUST, None)
    try:
        trusting.approve(workspace, configuration.load(workspace.root))
        times = alternate(
            ROUNDS,
            {
                "checked": lambda: seconds(lambda: trusting.load_trusted(workspace)),
                "only read": lambda: seconds(lambda: configuration.load(workspace.root)),
            },
        )
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})
    return Row(
        group="guard",
        what="guard: whether the configuration is approved",
        measured=(times["checked"] - times["only read"]) * 1000,
        unit="ms",
        limit=5,
        parts={name: value * 1000 for name, value in times.items()},
    )
