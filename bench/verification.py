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

GATES = ("lint", "types", "test")
LAST = "evidence_ended"
"""The last event of a verify step whose gates are green."""

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
        return [
            *(_clean(place / str(files), files, changed, limit) for files, changed, limit in SIZES),
            _gates_side_by_side(place / "gates"),
        ]


def _clean(place: Path, files: int, changed: int, limit: int) -> Row:
    """From the beginning of the verify step to its end, without the gate itself; the best story counts."""
    project = Project(place, stories=STORIES, agent=AGENT.replace("CHANGED", str(changed)))
    _add_files(project, files)
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


def _gates_side_by_side(place: Path) -> Row:
    """The whole verify step with gates that wait, against the longest of them; the best story counts."""
    project = Project(place, stories=STORIES, agent=AGENT.replace("CHANGED", "1"))
    _add_files(project, 1_000)
    project.set_gates(*({"name": name, "command": "sleep 1", "parallel": True} for name in GATES))
    project.run(["git", "commit", "-qam", "Gates"])
    project.run(RUN)
    begun = {(event["work"], event["step"]): _at(event) for event in project.events("step_started")}
    longest: dict[str, float] = {}
    for event in project.events("gate_ended"):
        longest[event["work"]] = max(longest.get(event["work"], 0.0), float(event["result"]["seconds"]))
    stories = project.pending[1:]
    ended = {event["work"]: _at(event) for event in project.events(LAST)}
    spans = {name: ended[name] - begun[name, "verify"] for name in stories}
    return Row(
        group="verification",
        what=f"verification: {len(GATES)} independent gates of 1 s",
        measured=min(spans[name] / longest[name] for name in stories),
        unit="x",
        limit=1.3,
        aim=1.05,
        parts={"step": min(spans.values()) * 1000, "median": median(spans.values()) * 1000},
    )


def _add_files(project: Project, files: int) -> None:
    for number in range(files):
        path = project.path / f"src/{number % 10}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    project.run(["git", "add", "."])
    project.run(["git", "commit", "-qm", "Files"])


def _times(project: Project) -> list[float]:
    begun = {(event["work"], event["step"]): _at(event) for event in project.events("step_started")}
    gates = {event["work"]: float(event["result"]["seconds"]) for event in project.events("gate_ended")}
    stories = project.pending[1:]  # the first one makes the copy
    ended = {event["work"]: _at(event) for event in project.events(LAST)}
    return [(ended[name] - begun[name, "verify"] - gates[name]) * 1000 for name in stories]


def _at(event: dict[str, object]) -> float:
    return datetime.fromisoformat(str(event["at"])).timestamp()
