"""The loops that Ralph is compared with: the same agent, gate and commits, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from pydantic_core import to_json

from bench.project import GATE, PLAN, Project

MESSAGE = "chore: update prd.json"
COMMIT = ["git", "commit", "-q", "--no-verify", "-m", MESSAGE, "--", PLAN]

SHELL_LOOP = f"""
agent=$1 prompts=$2
shift 2
for RALPH_TASK; do
    export RALPH_TASK
    echo >> {PLAN}
    git commit -q --no-verify -m '{MESSAGE}' -- {PLAN}
    "$agent" < "$prompts/$RALPH_TASK-1.agent.prompt.md" > ../agent.log
    sh -c '{GATE}'
    echo >> {PLAN}
    git commit -q --no-verify -m '{MESSAGE}' -- {PLAN}
done
"""


def in_shell(project: Project, prompts: Path, *, first_on_path: Path | None = None) -> None:
    """A shell loop over the pending stories."""
    argv = ["sh", "-ec", SHELL_LOOP, "sh", str(project.agent), str(prompts), *project.pending]
    project.run(argv, first_on_path=first_on_path)


def in_python(project: Project, prompts: Path) -> None:
    """A loop over the pending stories that reads the whole plan, and changes and writes it twice, for each."""
    path = project.path / PLAN
    for task in project.pending:
        document = json.loads(path.read_bytes())
        document["run"] = {"currentStoryId": task}
        _save(project, path, document)
        with (prompts / f"{task}-1.agent.prompt.md").open("rb") as prompt:
            env = {**project.env, "RALPH_TASK": task}
            subprocess.run([project.agent], cwd=project.path, env=env, stdin=prompt, capture_output=True, check=True)
        project.run(["/bin/sh", "-c", GATE])
        document["run"] = {}
        _save(project, path, document)


def _save(project: Project, path: Path, document: dict[str, object]) -> None:
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        file.write(to_json(document, indent=2))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    project.run(COMMIT)
