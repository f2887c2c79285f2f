"""What a run costs while it waits for a usage limit to reset."""

from __future__ import annotations

import subprocess
import time

import psutil

from bench.measure import folder
from bench.project import RUN, Project
from bench.table import Row

LIMITED = """#!/bin/sh
echo '{"type": "result", "is_error": true, "api_error_status": 429, "result": "API Error: 429 rate limit"}'
exit 1
"""
SECONDS = 10.0
PATIENCE = 60.0


def rows() -> list[Row]:
    with folder() as place:
        project = Project(place, stories=1, agent=LIMITED)
        project.set_provider(dialect="claude")
        with subprocess.Popen(RUN, cwd=project.path, env=project.env, stdout=subprocess.DEVNULL) as run:
            try:
                _until_it_waits(project)
                used = _cpu_seconds(run.pid, SECONDS)
            finally:
                run.terminate()
    return [
        Row(
            group="waiting",
            what="a run that waits for a limit: processor time in a minute",
            measured=used / SECONDS * 60 * 1000,
            unit="ms",
            limit=300,
            parts={"measured for": SECONDS * 1000},
        )
    ]


def _until_it_waits(project: Project) -> None:
    end = time.monotonic() + PATIENCE
    while not any(project.path.glob(".ralph/run/limits.json")):
        if time.monotonic() > end:
            raise RuntimeError("the run did not meet its limit")
        time.sleep(0.1)
    time.sleep(1)  # until it has said so and come to rest


def _cpu_seconds(pid: int, seconds: float) -> float:
    process = psutil.Process(pid)
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    return max(after.user + after.system - before.user - before.system, 0.0)
