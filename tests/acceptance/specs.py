"""What the specs workflow's tests share: a project with specs and a plan, and what an agent does with its tasks."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Project

Json = dict[str, Any]


def task(name: str, description: str = "", **more: Any) -> Json:
    return {"id": name, "description": description or f"Do {name}", **more}


def spec(name: str, *tasks: Json, priority: int = 1, **more: Any) -> Json:
    title = name.replace("-", " ").title()
    made = {"id": name, "file": f"specs/{name}.md", "name": title, "priority": priority, "tasks": list(tasks)}
    return {**made, **more}


def write_plan(project: Project, *specs: Json) -> None:
    """A plan as plan mode leaves it, with the specs it was made from, all of it committed."""
    for entry in specs:
        lines = [f"# {entry['name']}", "", "## Tasks", *(f"- [ ] {one['description']}" for one in entry["tasks"])]
        project.write(entry["file"], "\n".join(lines) + "\n")
    project.write("implementation.json", json.dumps({"version": 1, "updatedBy": "plan-mode", "specs": specs}, indent=2))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Specs and plan")


def builds(name: str, file: str, text: str = "x\n", **more: Any) -> Json:
    """A turn that does a task by writing one file."""
    return {"match": rf"# Task: Do {name}\n", "write": {file: text}, "then": ["<TASK_DONE>"], **more}


def plan(project: Project) -> Json:
    return json.loads(project.read("implementation.json"))


def tasks(project: Project) -> dict[str, Json]:
    return {one["id"]: one for entry in plan(project)["specs"] for one in entry["tasks"]}


def statuses(project: Project) -> dict[str, str]:
    """The status of every spec and every task."""
    entries = {entry["id"]: entry["status"] for entry in plan(project)["specs"]}
    return {**entries, **{name: one["status"] for name, one in tasks(project).items()}}


def subjects(project: Project) -> list[str]:
    """The branch's commits, newest first, without Ralph's state commits."""
    return [line for line in project.subjects("HEAD") if line != "chore: update implementation.json"]
