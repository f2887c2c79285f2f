"""The Stop hook in the real Claude Code: a session ends only when the gates are green."""

from __future__ import annotations

import subprocess

from tests.conftest import Project
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, say


def test_a_session_continues_until_the_gates_are_green(project: Project, model_says: ModelSays) -> None:
    model = model_says([say("I am done."), bash("echo hello > greet.txt"), say("Now I am.")])
    project.ralph("init", "--provider", "claude", "--verify", "grep -q hello greet.txt")
    project.ralph("install", "claude", "--stop-hook")

    command = ["claude", "-p", "--dangerously-skip-permissions", "Write a greeting"]
    done = subprocess.run(command, cwd=project.path, env=project.env, text=True, capture_output=True, timeout=120)

    assert done.stdout.strip() == "Now I am.", done.stdout + done.stderr
    assert project.read("greet.txt") == "hello\n"
    held = [text for request in model.requests for text in request.texts if "The gates of this project fail" in text]
    assert "grep -q hello greet.txt" in held[0]


def test_an_agent_of_a_run_is_not_held(project: Project, model_says: ModelSays) -> None:
    model = model_says([say("I give up.")])
    project.ralph("init", "--provider", "claude", "--verify", "false")
    project.ralph("install", "claude", "--stop-hook")
    project.git("add", ".")
    project.git("commit", "-qm", "Ralph")
    project.stories("Greet")

    project.ralph("run", "auth", "--once", "--no-baseline", code=3)

    assert len([request for request in model.requests if not request.side]) == 1
