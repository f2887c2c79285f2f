"""The merge train: how fast passed work lands when several attempts are verified at the same time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime
from math import ceil
from pathlib import Path
from random import Random

from bench.measure import folder
from bench.project import RUN, Project
from bench.table import Row
from ralph.engine.train import Car, Coupling, Train
from ralph.testing.clock import simulate
from ralph.verify.suite import SuiteResult

STORIES, JOBS, AGENT_SECONDS = 16, 8, 2
AGENT = f"""#!/bin/sh
prompt=$(cat)
case $prompt in
"# Final Verification"*) echo "<ralph>VERIFIED</ralph>"; exit ;;
esac
sleep {AGENT_SECONDS}
case $prompt in *"together with work that landed"*) echo > "$RALPH_TASK.mended" ;; esac
echo done > "$RALPH_TASK.txt"
git add .
git commit -q -m "feat: $RALPH_TASK"
echo "<ralph>DONE</ralph>"
"""
CLASHES = """for n in 2 10; do m=$((n - 1))
[ -e US-$n.txt ] && [ -e US-$m.txt ] && [ ! -e US-$n.mended ] && [ ! -e US-$m.mended ] && exit 1
done; true"""
"""One story in eight is red together with the one before it, until an agent has read about it."""


def rows() -> Iterator[Row]:
    with folder() as place:
        yield _stories(place / "slow", "gate 1 s", gate="sleep 1", gate_seconds=1, limit=1.4, aim=1.15)
        clashes = f"sleep 1; {CLASHES}"
        yield _stories(place / "clash", "1 in 8 red together", gate=clashes, gate_seconds=1, limit=2.0, aim=1.5)
        yield _stories(place / "fast", "gate 0.01 s", gate="sleep 0.01", gate_seconds=0.01, limit=1.3, aim=1.1)
    yield _simulated()


def _stories(place: Path, what: str, *, gate: str, gate_seconds: float, limit: float, aim: float) -> Row:
    """From the first attempt's beginning to the last one's end, against rounds of nothing but agents and gates."""
    project = Project(place, stories=STORIES, agent=AGENT)
    path = project.path / "ralph.config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"verify": {"default": [gate]}}))
    project.run(["git", "commit", "-qam", "Gate"])
    project.run([*RUN, "--jobs", str(JOBS)])
    times = [
        datetime.fromisoformat(event["at"]).timestamp()
        for name in ("attempt_started", "attempt_ended")
        for event in project.events(name)
        if event["work"] != "final"
    ]
    took = max(times) - min(times)
    ideal = ceil(STORIES / JOBS) * (AGENT_SECONDS + gate_seconds) + gate_seconds
    return Row(
        group="train",
        what=f"train: {STORIES} stories, {JOBS} jobs, agent {AGENT_SECONDS} s, {what}",
        measured=took / ideal,
        unit="x",
        limit=limit,
        aim=aim,
        parts={"ralph": took * 1000, "ideal": ideal * 1000},
    )


def _simulated(tasks: int = 256, jobs: int = 64, agent: float = 20.0, gate: float = 10.0) -> Row:
    """The train alone in simulated time: what agents and gates must take, beside what everything takes."""
    took = simulate(_work_through(tasks, jobs, agent, gate))
    ideal = ceil(tasks / jobs) * (agent + gate)
    return Row(
        group="train",
        what=f"train: {jobs} jobs, {tasks} tasks, simulated clock",
        measured=took / ideal,
        unit="x",
        limit=1 / 0.85,
        aim=1 / 0.95,
        parts={"ralph": took * 1000, "ideal": ideal * 1000},
    )


async def _work_through(tasks: int, jobs: int, agent: float, gate: float) -> float:
    """Each agent and each gate takes up to a tenth more or less than its time."""
    chance, queue, landed = Random(1), list(range(tasks)), list[str]()

    async def couple(car: Car, onto: str) -> Coupling:
        await asyncio.sleep(0.01)
        return Coupling(commit=f"{onto}+{car.name}", base=onto, is_merged=True)

    async def tip() -> str:
        return "+".join(landed)

    async def check(coupling: Coupling) -> SuiteResult:
        await asyncio.sleep(gate * chance.uniform(0.9, 1.1))
        return SuiteResult(results=())

    train, turn = Train(tip=tip, couple=couple, places=jobs), asyncio.Lock()

    async def slot() -> None:
        while queue:
            car = Car(name=f"T{queue.pop(0)}")
            await asyncio.sleep(agent * chance.uniform(0.9, 1.1))
            with train.riding(car):
                await train.arrive(car, car.name, check)
                async with turn:
                    await asyncio.sleep(0.02)
                    landed.append(car.name)
                    train.land(car)

    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(slot())
    return asyncio.get_running_loop().time()
