"""What a shell completes: tasks, attempts and sessions of this project."""

from __future__ import annotations

import subprocess

import pytest

from tests.acceptance import requests, sessions
from tests.conftest import BIN, Project, does


def complete(project: Project, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    asked = {
        "_RALPH_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("ralph", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [str(BIN / "ralph")], cwd=project.path, env=project.env | asked, capture_output=True, text=True, check=True
    )
    return [line.removeprefix("plain,") for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("command", [["accept", "auth"], ["retry", "auth"], ["status", "auth", "--task"]])
def test_shells_complete_the_tasks_of_a_plan(project: Project, command: list[str]) -> None:
    project.stories("One", "Two")
    requests.write_plan(project, requests.task("Model"))

    assert complete(project, *command, "US") == ["US-001", "US-002"]
    assert complete(project, *command[:1], "nothing", "US") == []


def test_shells_complete_further_tasks_attempts_and_sessions(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    sessions.plan(project, "task-1")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", "--once")

    assert complete(project, "retry", "auth", "US-001", "US") == ["US-002"]
    assert complete(project, "attempts", "auth", "US") == ["US-001/1"]
    assert complete(project, "session", "--resume", "we") == ["weather"]
    assert complete(project, "help", "ver") == ["verify"]
