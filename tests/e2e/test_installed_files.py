"""What `ralph install` writes for other programs is read by the real programs."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.conftest import Project
from tests.e2e.agents import NAMES, TESTED, RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import call, say

SKILL = "Plan and build larger changes with Ralph"


@pytest.mark.parametrize("agent", TESTED, indirect=True)
def test_the_skill_is_offered_to_the_model(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model = model_says([say("I have looked around.")])
    project.ralph("init", "--provider", agent.name, "--verify", "true")
    project.ralph("install", "skill")
    project.git("add", ".")
    project.git("commit", "-qm", "Ralph")
    project.stories("Greet")

    project.ralph("run", "auth", "--once", "--no-baseline", code=3)

    assert SKILL in json.dumps([request.body for request in model.requests])


@pytest.mark.parametrize("agent", [name for name in NAMES if name == "copilot"], indirect=True)
def test_copilot_s_agents_work_in_its_command_line_too(
    project: Project, agent: RealAgent, model_says: ModelSays
) -> None:
    planner = {"agent_type": "Ralph-Planner", "prompt": "Plan the weather page.", "description": "plan", "name": "p"}
    routes = [call("task", **planner, mode="sync"), say("Routed.")]
    model = model_says(about={"Plan the weather page.": [say("Planned.")], "Add a weather page": routes})
    project.ralph("init", "--provider", "copilot", "--verify", "true")
    project.ralph("install", "copilot")

    command = ["copilot", "--agent", "Ralph", "--allow-all-tools", "-p", "Add a weather page"]
    done = subprocess.run(command, cwd=project.path, env=project.env, text=True, capture_output=True, timeout=120)

    assert "Routed." in done.stdout, done.stdout + done.stderr
    router, role = (
        next(request for request in model.requests if text in "".join(request.question.prompt))
        for text in ("Add a weather page", "Plan the weather page.")
    )
    assert "# Ralph, the router" in json.dumps(router.body)
    assert not {"create", "edit", "bash"} & set(router.question.tools), "it only reads and routes"
    assert "progress.md" in json.dumps(role.body) and "create" in role.question.tools
