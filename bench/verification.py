"""What a clean checkout costs each story beyond its gates."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from statistics import median

from bench.measure import folder
from bench.project import RUN, Project
from bench.table import Row

STORIES = 6
SIZES = ((1_000, 1, 60), (10_000, 50, 250))
"""How many files there are, how many of them a story changes, and how many milliseconds that may cost."""

AGENT = """#!/bin/sh
prompt=$(cat)
case $prompt in
"# Final Verification"*) echo "<ralph>VERIFIED</ralph>"; exit ;;
esac
for number in $(seq CHANGED); do echo "$RALPH_TASK" >> src/$((number % 10))/$number.txt; done
echo "<ralph>DONE</ralph>"
"""


def rows() -> list[Row]:
    with folder() as place:
        return [_clean(place / str(files), files, changed, limit) for files, changed, limit in SIZES]


def _clean(place: Path, files: int, changed: int, limit: int) -> Row:
    """From the beginning of the verify step to the next step, without the gate itself; the best story counts."""
    project = Project(place, stories=STORIES, agent=AGENT.replace("CHANGED", str(changed)))
    for number in range(files):
        path = project.path / f"src/{number % 10}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    project.run(["git", "add", "."])
    project.run(["git", "commit", "-qm", "Files"])
    project.run(RUN)
    times = _times(project)
    return Row(
        group="verification",
        what=f"verification: {files:,} files, {changed} changed".replace(",", " "),
        measured=min(times),
        unit="ms",
        limit=limit,
        parts={"median": median(times)},
    )


def _times(project: Project) -> list[float]:
    begun = {(event["work"], event["step"]): _at(event) for event in project.events("step_started")}
    gates = {event["work"]: float(event["result"]["seconds"]) for event in project.events("gate_ended")}
    stories = project.pending[1:]  # the first one makes the copy
    return [(begun[name, "git-commit"] - begun[name, "verify"] - gates[name]) * 1000 for name in stories]


def _at(event: dict[str, object]) -> float:
    return datetime.fromisoformat(str(event["at"])).timestamp()
