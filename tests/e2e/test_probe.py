"""The real Claude Code and Codex, probed."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project
from tests.e2e.agents import TESTED, RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, say

DONE = say("<ralph>DONE</ralph>", usage=(2000, 10))
WRITES = "echo it works > ralph-probe.txt"


@pytest.mark.parametrize("agent", TESTED, indirect=True)
def test_a_real_agent_is_probed_and_then_run(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    commits = f"{WRITES} && git add ralph-probe.txt && git commit -qm 'Add it'"
    model_says(
        [bash(WRITES), DONE],
        [bash("echo hello > greet.txt"), DONE],
        about={
            "git commit -m": [bash(commits, usage=(1000, 50)), DONE],
            "can be stopped": [bash("touch begun && tail -f /dev/null"), say("It ended.")],
        },
    )
    del project.env["RALPH_NO_PROBE"]
    project.ralph("init", "--provider", agent.name, "--verify", "grep -q hello greet.txt")
    config = json.loads(project.read("ralph.config.json"))
    project.write("ralph.config.json", json.dumps({**config, "roles": {}}))
    project.stories("Greet")

    rows = json.loads(project.ralph("doctor", "--probe", "--json").stdout)

    states = {row["check"]: row["state"] for row in rows if "check" in row}
    assert len(states) == 9 and set(states.values()) == {"good"}, rows
    assert next(row["what"] for row in rows if row.get("check") == "usage").count("3.0k tokens in, 60 out") == 1

    done = project.ralph("run", "auth", "--once")

    assert done.stdout.startswith(f"Probing {agent.name}: answers, writes files · ")
    assert project.landed("greet.txt") == "hello"
