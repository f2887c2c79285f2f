"""How long commands that only look take to start and end, as multiples of Python's own start."""

from __future__ import annotations

import sys

from bench.measure import alternate, folder, spawned
from bench.project import RALPH, Project
from bench.table import Row

ROUNDS, STORIES = 21, 1000
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "version": [RALPH, "--version"],
    "status": [RALPH, "status", "auth"],
}


def rows() -> list[Row]:
    with folder() as place:
        project = Project(place, stories=STORIES)
        actions = {
            name: (lambda argv=argv: spawned(argv, project.path, project.env)) for name, argv in COMMANDS.items()
        }
        alternate(2, actions)
        times = alternate(ROUNDS, actions)
    return [
        _row(times, "version", "start: ralph --version", 4),
        _row(times, "status", f"start: ralph status, {STORIES:,} stories", 12),
    ]


def _row(times: dict[str, float], name: str, what: str, limit: float) -> Row:
    return Row(
        group="start",
        what=what,
        measured=times[name] / times["python"],
        unit="x",
        limit=limit,
        parts={"ralph": times[name] * 1000, "python -c pass": times["python"] * 1000},
    )
