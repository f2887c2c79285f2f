"""What tasks side by side cost beyond their agents, and what a worktree costs."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path
from statistics import median

from bench.measure import folder, seconds
from bench.project import GATE, RUN, Project
from bench.table import Row

TASKS, ROUNDS, FILES = 12, 3, 10_000
LIMITS = {4: 1.25, 12: 1.5}

AGENT = """#!/bin/sh
prompt=$(cat)
case $prompt in
"# Final Verification"*) echo "<ralph>VERIFIED</ralph>"; exit ;;
esac
sleep 1
echo done > "$RALPH_TASK.txt"
git add "$RALPH_TASK.txt"
git commit -q -m "feat: $RALPH_TASK"
echo "<ralph>DONE</ralph>"
"""


LANE = """
for task in "$@"; do
    echo prompt | RALPH_TASK="$task" "$AGENT" > /dev/null && sh -c "$GATE"
done
"""


def rows() -> list[Row]:
    with folder() as place:
        return [
            *(_side_by_side(place / str(jobs), jobs) for jobs in LIMITS),
            _made(place / "large"),
            _slots(place / "8"),
        ]


def _side_by_side(place: Path, jobs: int) -> Row:
    """From the first attempt's beginning to the last one's end, against agents and gates that need no Ralph."""
    spans, ideals = [], []
    for number in range(ROUNDS):
        project = _project(place / str(number))
        ideals.append(_ideal(project, place / f"lanes-{number}", jobs))
        project.run([*RUN, "--jobs", str(jobs)])
        times = [_at(event) for name in ("attempt_started", "attempt_ended") for event in _of_tasks(project, name)]
        spans.append(max(times) - min(times))
    ralph, ideal = min(spans), min(ideals)
    return Row(
        group="parallel",
        what=f"parallel: {TASKS} tasks with --jobs {jobs}",
        measured=ralph / ideal,
        unit="x",
        limit=LIMITS[jobs],
        parts={"ralph": ralph * 1000, "ideal": ideal * 1000, "ralph median": median(spans) * 1000},
    )


def _ideal(project: Project, place: Path, jobs: int) -> float:
    """The same agents and gates in as many lanes, each in a worktree that is there already; nothing is landed."""
    env = {**project.env, "AGENT": str(project.agent), "GATE": GATE}
    lanes = [place / str(lane) for lane in range(jobs)]
    for lane in lanes:
        project.run(["git", "worktree", "add", "-q", "--detach", str(lane)])

    def work() -> None:
        running = [
            subprocess.Popen(["sh", "-c", LANE, "lane", *project.pending[number::jobs]], cwd=lane, env=env)
            for number, lane in enumerate(lanes)
        ]
        if any(lane.wait() for lane in running):
            raise RuntimeError("a lane failed")

    return seconds(work)


def _of_tasks(project: Project, name: str) -> list[dict[str, object]]:
    return [event for event in project.events(name) if event["work"] != "final"]


def _at(event: dict[str, object]) -> float:
    return datetime.fromisoformat(str(event["at"])).timestamp()


def _made(place: Path) -> Row:
    """The whole of a slot's preparation on a large repository: the first time, and when it is used again."""
    made, again, bare = [], [], []
    for number in range(ROUNDS):  # nothing is removed between: a file system may take its time after that
        project = _project(place / str(number), stories=3, files=FILES)
        os.sync()
        project.run([*RUN, "--jobs", "1"])
        landed = [_at(event) for event in project.events("attempt_ended")]
        begun = [_at(event) for event in project.events("attempt_started")]
        made.append(begun[0] - _at(project.events("run_started")[0]))
        again.append(max(begun[number] - landed[number - 1] for number in (1, 2)))
        bare.append(_bare_worktree(project, place / f"bare-{number}"))
    return Row(
        group="parallel",
        what=f"parallel: a worktree of {FILES:,} files".replace(",", " "),
        measured=min(made) * 1000,
        unit="ms",
        limit=1000,
        parts={
            "used again": min(again) * 1000,
            "median": median(made) * 1000,
            "git worktree add alone": min(bare) * 1000,
        },
    )


def _bare_worktree(project: Project, folder: Path) -> float:
    add = ["git", "-c", "checkout.workers=4", "worktree", "add", "-q", "--detach", str(folder)]
    return seconds(lambda: project.run(add))


def _slots(place: Path) -> Row:
    """Until eight agents have begun, against eight times `git worktree add`, which cannot be run twice at once."""
    ratios, ours, bare = [], [], []
    for number in range(ROUNDS):
        project = _project(place / str(number), stories=8, files=FILES)
        os.sync()
        bare.append(sum(_bare_worktree(project, place / f"bare-{number}-{n}") for n in range(8)))
        os.sync()
        project.run([*RUN, "--jobs", "8"])
        begun = [_at(event) for event in project.events("agent_started")][:8]
        ours.append(max(begun) - _at(project.events("run_started")[0]))
        ratios.append(ours[-1] / bare[-1])
    return Row(
        group="parallel",
        what=f"parallel: slots for --jobs 8 on {FILES:,} files".replace(",", " "),
        measured=min(ratios),
        unit="x",
        limit=2,
        parts={"ralph": min(ours) * 1000, "git worktree add": min(bare) * 1000},
    )


def _project(place: Path, *, stories: int = TASKS, files: int = 0) -> Project:
    """A project with as many files beside its plan."""
    project = Project(place, stories=stories, agent=AGENT)
    for number in range(files):
        path = project.path / f"src/{number // 100}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    project.run(["git", "add", "."])
    project.run(["git", "commit", "-q", "--allow-empty", "-m", "Files"])
    return project
