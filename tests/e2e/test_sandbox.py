"""Real agents in the sandbox: they work, and reach nothing but their working copy and their model."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from ralph.sandbox.backends import BACKENDS, problem
from tests.conftest import Project
from tests.e2e.agents import RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, say

pytestmark = pytest.mark.skipif(
    all(problem(backend) for backend in BACKENDS if backend.name == "bubblewrap"),
    reason="bubblewrap does not work here",
)
TRIES = (
    "{ cat ~/.ssh/id_ed25519; echo evil >> ~/.bashrc; echo evil > $RALPH_WORKTREE/../../../../app.txt; "
    "curl -sS -m 5 http://elsewhere.example/; } > seen.txt 2>&1"
)


@pytest.mark.parametrize("agent", ["claude", "codex"], indirect=True)
def test_a_real_agent_works_in_the_sandbox_and_reaches_nothing_else(
    project: Project, agent: RealAgent, model_says: ModelSays
) -> None:
    greets = bash(f"echo hello > greet.txt; {TRIES}")
    model = model_says([greets, say("<ralph>DONE</ralph>")], [say("All of it is there.", "<ralph>VERIFIED</ralph>")])
    project.env.pop("RALPH_SANDBOX")
    project.env.pop("IS_SANDBOX", None)
    (project.home / ".ssh").mkdir()
    (project.home / ".ssh/id_ed25519").write_text("PRIVATE KEY")
    project.ralph("init", "--provider", agent.name, "--verify", "grep -q hello greet.txt")
    config = json.loads(project.read("ralph.config.json"))
    config["sandbox"] = {"use": "bubblewrap", "network": [urlsplit(model.url).netloc], "gateNetwork": "none"}
    project.write("ralph.config.json", json.dumps(config))
    project.stories("Greet")

    done = project.ralph("run", "auth")

    assert "complete · all gates green · final verification agreed" in done.stdout
    seen = project.landed("seen.txt")
    assert "PRIVATE" not in seen and "does not allow elsewhere.example" in seen
    assert seen.count("Read-only file system") == 2, seen
    assert not (project.home / ".bashrc").exists() and project.read("app.txt") == "app\n"
    assert "elsewhere.example" in [event["host"] for event in project.events("host_refused")]
