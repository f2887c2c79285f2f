"""The real Claude Code from a page of requirements to a committed program."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Project
from tests.e2e.conftest import ModelSays, slot
from tests.e2e.model_server import bash, say, write

TASKS = {
    "description": "A greeting",
    "tasks": [
        {"id": "T-001", "title": "Greet", "description": "greet.txt says hello", "acceptance_criteria": ["hello"]}
    ],
}


def found(project: Project, *options: str) -> None:
    project.write("requirements.md", "# Greeting\n\ngreet.txt says hello\n")
    gate = "grep -q hello greet.txt"
    project.ralph("init", "--provider", "claude", "--requirements", "requirements.md", "--verify", gate, *options)
    project.git("add", "ralph.config.json", "requirements.md", ".ralph")
    project.git("commit", "-q", "-m", "Found")


def configure(project: Project, **config: Any) -> None:
    steps = json.loads(project.read(".ralph/configs/default.json"))
    steps["steps"][1]["config"].update(config)
    project.write(".ralph/configs/default.json", json.dumps(steps))
    project.git("commit", "-q", "-am", "Configure")


def plan(project: Project) -> list[Any]:
    answer = project.path / ".ralph/worktrees/.review/plan/.ralph/run/answers/tasks-requirements"
    return [write(answer, json.dumps(TASKS)), say("The tasks are there.")]


def test_requirements_become_a_program_with_context_model_and_tools(project: Project, model_says: ModelSays) -> None:
    """R4.1, R4.3, R4.6, R4.12, R4.14 with a real agent."""
    mark = 'sed -i \'s/"in_progress"/"done"/\' .ralph/prd.json'
    model = model_says(
        plan(project),
        [write(slot(project) / "README.md", "# Greeting\n"), say("It is set up.", usage=(100, 10))],
        [write(slot(project) / "greet.txt", "hello\n"), bash(mark), say("I marked it.", usage=(200, 20))],
    )
    found(project)
    configure(project, allowed_tools="Write,Read,Bash")

    project.ralph("run")

    assert [task["status"] for task in json.loads(project.truth("requirements", ".ralph/prd.json"))["tasks"]] == [
        "done"
    ]
    assert project.landed("greet.txt", "ralph/requirements") == "hello"
    assert not project.exists("greet.txt") and project.status() == []
    asked = [request for request in model.requests if not request.side]
    planning, setup, work = asked[0], asked[2], asked[4]
    assert "opus" in planning.body["model"]
    assert "sonnet" in setup.body["model"] and "sonnet" in work.body["model"]
    system = json.dumps(work.body["system"])
    assert "Ralph's loop number 2" in system and "Current task: T-001 Greet" in system
    assert "loop number" not in "".join(work.texts), "it is system text, not part of the prompt"
    tools = {tool["name"] for tool in work.body["tools"]}
    assert {"Write", "Read", "Bash"} <= tools and "Edit" not in tools
    assert "Edit" in {tool["name"] for tool in setup.body["tools"]}
    aggregate = json.loads(project.read(".ralph/aggregate.json"))
    assert aggregate["calls"] == 2
    assert aggregate["cost"]["source"] == "reported" and aggregate["cost"]["usd"] > 0
    assert aggregate["tokens"]["output"] >= 30
    assert "sonnet" in aggregate["model"]


def test_another_model_can_be_asked_for(project: Project, model_says: ModelSays) -> None:
    model = model_says(
        plan(project),
        [say("It is set up.")],
        [write(slot(project) / "greet.txt", "hello\n"), say("<ralph>DONE</ralph>")],
    )
    found(project, "--model", "haiku")

    project.ralph("run", "--model", "opus")

    models = [request.body["model"] for request in model.requests if not request.side]
    assert "haiku" in models[0]
    assert all("opus" in name for name in models[2:])
