"""What the probe of a new configuration adds to a run, beside the agent's own time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.measure import alternate, folder, seconds
from bench.table import Row
from ralph.cli.probe_new import probe_new
from ralph.cli.running_options import RunFlags
from ralph.config import Config, Provider
from ralph.workflows.registry import WORKFLOWS
from ralph.workspace import Workspace

ROUNDS = 11
SAYS = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"done"}}'
PROGRAM = f"#!/bin/sh\necho it works > ralph-probe.txt\necho '{SAYS}'\n"


def rows() -> list[Row]:
    with folder() as place:
        program = place / "codex"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")  # what is remembered there ends with this folder
        config = Config(provider=Provider(command=str(program), args=("exec", "--json", "-")))
        new = iter(range(10_000))
        actions = {
            "agent": lambda: seconds(lambda: subprocess.run([program], cwd=place, stdout=subprocess.DEVNULL)),
            "probed": lambda: seconds(lambda: _probe(place, config, f"{next(new)}")),
            "remembered": lambda: seconds(lambda: _probe(place, config, "")),
        }
        alternate(2, actions)
        rounds = [alternate(1, actions) for _ in range(ROUNDS)]
        times = {name: min(times[name] for times in rounds) for name in actions}  # disturbances only make it longer
    return [
        Row(
            group="probe",
            what="a new configuration: Ralph's own time for its probe",
            measured=(times["probed"] - times["agent"]) * 1000,
            unit="ms",
            limit=50,
            parts={name: value * 1000 for name, value in times.items()},
        )
    ]


def _probe(place: Path, config: Config, model: str) -> None:
    flags = RunFlags(quiet=True, model=model)
    probe_new(Workspace(root=place), config, WORKFLOWS["request"], flags)
