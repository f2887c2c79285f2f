"""What the request workflow's tests share: what an agent answers while it plans, and what it does with the tasks."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Project

Json = dict[str, Any]
REQUEST = "Build a REST API for user management"
URL = "https://example.com/rest"
RESEARCH = {
    "summary": "Use plain HTTP.",
    "findings": [{"topic": "HTTP", "finding": "PUT is idempotent", "sources": [URL]}],
    "sources": [{"title": "REST", "url": URL}],
}


def decision(name: str, *options: str, best: str) -> Json:
    listed = [{"option": option, "consequence": f"{option} it is"} for option in options]
    return {"id": name, "question": f"Which {name}?", "options": listed, "recommendation": best}


STORAGE = decision("storage", "Files", "SQLite", best="SQLite")
LOGIN = decision("login", "No", "Yes", best="No")
DECISIONS = {"decisions": [STORAGE, LOGIN]}


def proposal(*tasks: Json) -> Json:
    prd = "# User management\n\n## Overview\n\nUsers over HTTP.\n"
    return {"prd": prd, "summary": "Users over HTTP, in one file.", "tasks": list(tasks)}


def task(title: str, *needs: str, **more: Any) -> Json:
    return {"title": title, "acceptance_criteria": [f"{title} works"], "dependencies": list(needs), **more}


TASKS = (task("Model"), task("Server"), task("Endpoint", "task-001", "task-002"))


def research(answer: Json = RESEARCH, **more: Any) -> Json:
    return {"match": "# Research for a Request", "answer": answer, **more}


def decisions(answer: Json = DECISIONS, **more: Any) -> Json:
    return {"match": "# Decisions for a Request", "answer": answer, **more}


def plans(*tasks: Json, **more: Any) -> Json:
    return {"match": "# Plan for a Request", "answer": proposal(*(tasks or TASKS)), **more}


def builds(number: int, name: str = "", text: str = "x\n", **more: Any) -> Json:
    """A turn that does a task by writing one file."""
    return {"match": f"# Task task-00{number}:", "write": {name or f"{number}.txt": text}, "done": True, **more}


def usual(*before: Json) -> list[Json]:
    return [*before, research(), decisions(), plans(), *(builds(number) for number in (1, 2, 3))]


def write_plan(project: Project, *tasks: Json) -> None:
    """A plan as `ralph plan` leaves it, committed."""
    names = [f"task-{number:03}" for number in range(1, len(tasks) + 1)]
    state = {
        "version": "1.0",
        "created_at": "2026-01-27T12:34:56Z",
        "updated_at": "2026-01-27T12:34:56Z",
        "phase": "planning_complete",
        "original_request": REQUEST,
        "task_order": names,
        "task_statuses": dict.fromkeys(names, "pending"),
        "last_failure": None,
        "summary": "Users over HTTP, in one file.",
    }
    project.write(".ralph/state.json", json.dumps(state, indent=2))
    project.write(".ralph/prd.md", proposal()["prd"])
    for name, entry in zip(names, tasks, strict=True):
        project.write(f".ralph/tasks/{name}.json", json.dumps({"id": name, **entry}, indent=2))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Plan")


def load(project: Project, name: str = "state.json", branch: str = "ralph/request") -> Json:
    """One of a request's files where its truth is: with a run, on its branch, or in the checkout if it has none."""
    return json.loads(project.truth("request", f".ralph/{name}", branch))


def in_checkout(project: Project, name: str = "state.json") -> Json:
    """One of a request's files as the person has it."""
    return json.loads(project.read(f".ralph/{name}"))


def work(project: Project, branch: str = "ralph/request") -> list[str]:
    """The commits that are not about state, oldest first."""
    return [line for line in reversed(project.subjects(branch)) if line.startswith("feat: ")]
