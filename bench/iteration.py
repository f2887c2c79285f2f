"""What one iteration costs beyond a bare shell loop that does the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench import bare
from bench.measure import folder
from bench.pace import column, pairs
from bench.project import RUN, Project
from bench.table import Row

MANY, FEW, ROUNDS = 20, 2, 8


def rows() -> list[Row]:
    with folder() as place:
        return [_time(place), _processes(place)]


def _time(place: Path) -> Row:
    """The best story of each: what disturbs a story only ever makes it longer."""
    times = [pair for _ in range(ROUNDS) for pair in pairs(place / "timed", bare.in_shell, stories=MANY, pending=MANY)]
    ralph, loop = (column(times, side) for side in (0, 1))
    return Row(
        group="iteration",
        what="iteration: time beyond a bare loop's",
        measured=min(ralph) - min(loop),
        unit="ms",
        limit=35,
        aim=15,
        parts={"ralph": min(ralph), "bare loop": min(loop), "ralph median": median(ralph), "bare median": median(loop)},
    )


def _processes(place: Path) -> Row:
    """Counted apart from the time, by a `git` that writes down each call."""
    ralph = _calls_per_story(place / "ralph", lambda project, tool: project.run(RUN, first_on_path=tool))
    prompts = next(place.glob(f"ralph/{MANY}/project/.ralph/logs/*/journal.jsonl")).parent
    loop = _calls_per_story(place / "bare", lambda project, tool: bare.in_shell(project, prompts, first_on_path=tool))
    return Row(
        group="iteration",
        what="iteration: git processes beyond a bare loop's",
        measured=ralph - loop,
        unit="",
        limit=4,
        parts={"ralph": ralph, "bare loop": loop},
        parts_unit="",
    )


def _calls_per_story(place: Path, run: Callable[[Project, Path], object]) -> float:
    return (_calls(place, run, MANY) - _calls(place, run, FEW)) / (MANY - FEW)


def _calls(place: Path, run: Callable[[Project, Path], object], stories: int) -> int:
    project = Project(place / str(stories), stories=stories)
    calls, tool = place / f"{stories}.calls", place / f"{stories}.bin"
    tool.mkdir()
    (tool / "git").write_text(f'#!/bin/sh\necho "$*" >> "{calls}"\nexec "{shutil.which("git")}" "$@"\n')
    (tool / "git").chmod(0o755)
    run(project, tool)
    return len(calls.read_text().splitlines())
