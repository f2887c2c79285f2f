"""What a flood of agent output costs in memory and time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.measure import folder, seconds
from bench.project import RUN, Project
from bench.table import Row

SIZE, ROUNDS = 300_000_000, 9
LINE = "The agent reads a file, thinks about it, and says what it is going to do next.."
AGENT = f"""#!/bin/sh
cat > prompt.txt
yes '{LINE}' | head -c {SIZE}
echo
echo "<ralph>DONE</ralph>"
"""
SECRETS = {f"BENCH_{number}_TOKEN": f"aB3dE6gH{number}jK9mN2pQ5sT8vW" for number in range(3)}
"""Values that Ralph searches all output for."""
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
KIB_PER_UNIT = 1 / 1024 if sys.platform == "darwin" else 1


def rows() -> list[Row]:
    with folder() as place:
        rounds = [_round(place / str(number)) for number in range(ROUNDS)]
    peaks, calls, reads = zip(*rounds, strict=True)
    size = f"{SIZE // 1_000_000} MB"
    return [
        Row(
            group="output",
            what=f"output: peak memory, {size}",
            measured=max(peaks),
            unit="MB",
            limit=80,
            parts={"in most rounds": median(peaks)},
            parts_unit="MB",
        ),
        Row(
            group="output",
            what=f"output: time, {size}",
            measured=min(calls) / min(reads),
            unit="x",
            limit=2,
            parts={"ralph": min(calls) * 1000, "os.read loop": min(reads) * 1000},
        ),
    ]


def _round(place: Path) -> tuple[float, float, float]:
    """Ralph's peak memory in MB, its seconds for the call, and a plain reader's seconds."""
    project = Project(place, stories=1, agent=AGENT)
    project.env |= SECRETS
    peak = float(project.run([sys.executable, "-c", PEAK, *RUN, "--once"]))
    call = project.events("agent_ended")[0]
    if call["output_bytes"] < SIZE:
        raise RuntimeError(f"only {call['output_bytes']} bytes of output arrived")
    reader = seconds(lambda: _read(project))
    shutil.rmtree(place)
    return peak * KIB_PER_UNIT * 1024 / 1e6, call["seconds"], reader


def _read(project: Project) -> None:
    with subprocess.Popen(
        [str(project.agent)], cwd=project.path, env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout
        while os.read(agent.stdout.fileno(), 65536):
            pass
