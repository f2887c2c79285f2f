"""The five workflows as chaos sees them: how a plan is written, which command works on it, and which tasks are done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Needs = Mapping[str, Sequence[str]]
"""The tasks in their order, each with those that it needs."""
Files = dict[str, str]
Json = dict[str, Any]

SESSION = ".ralph-sessions/weather"
PRD = ".ralph/2026-01-01-auth/prd.json"
CALL_SECONDS = 4
"""The time limit of a call. A step of the requirements workflow has its own; without one it is 15 minutes."""
STEPS = {
    "max_loops_per_task": 3,
    "steps": [
        {"name": "work", "type": "agent", "config": {"timeout": f"{CALL_SECONDS}s"}},
        {"type": "verify"},
        {"type": "git-commit"},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """One of the five."""

    name: str
    task: str  # how its tasks are called, with a number
    command: tuple[str, ...]
    target: str
    plan: str  # the file that says which tasks are done
    write: Callable[[Needs], Files]
    done: Callable[[str], set[str]]  # the tasks that the plan calls done
    is_parallel: bool = True
    has_needs: bool = True  # its tasks can need one another

    @property
    def branch(self) -> str:
        return f"ralph/{self.target}"


def _feature(needs: Needs) -> Files:
    stories = [
        {"id": name, "title": name, "priority": number, "acceptanceCriteria": ["It works"], "dependsOn": list(others)}
        for number, (name, others) in enumerate(needs.items(), 1)
    ]
    head = {"schemaVersion": 2, "branchName": "ralph/auth", "description": "d"}
    return {PRD: _text({**head, "userStories": stories})}


def _request(needs: Needs) -> Files:
    state = {
        "version": "1.0",
        "created_at": "2026-01-27T12:34:56Z",
        "updated_at": "2026-01-27T12:34:56Z",
        "phase": "planning_complete",
        "original_request": "Chaos",
        "task_order": list(needs),
        "task_statuses": dict.fromkeys(needs, "pending"),
        "last_failure": None,
        "summary": "Chaos.",
    }
    tasks = {
        f".ralph/tasks/{name}.json": _text(
            {"id": name, "title": name, "acceptance_criteria": ["It works"], "dependencies": list(others)}
        )
        for name, others in needs.items()
    }
    return {".ralph/state.json": _text(state), ".ralph/prd.md": "# Chaos\n\n## Overview\n\nChaos.\n", **tasks}


def _requirements(needs: Needs) -> Files:
    tasks = [{"id": name, "title": name, "depends_on": list(others)} for name, others in needs.items()]
    return {
        ".ralph/prd.json": _text({"version": 1, "tasks": tasks}),
        ".ralph/requirements.md": "# All of it\n",
        ".ralph/configs/default.json": _text(STEPS),
    }


def _specs(needs: Needs) -> Files:
    """A spec for every two tasks, which need nothing of one another."""
    names = list(needs)
    specs, files = [], {}
    for number in range(0, len(names), 2):
        own = names[number : number + 2]
        name = f"spec{number}"
        tasks = [{"id": task, "description": f"Do {task}"} for task in own]
        specs.append(
            {"id": name, "file": f"specs/{name}.md", "name": name, "priority": 1, "dependsOn": [], "tasks": tasks}
        )
        files[f"specs/{name}.md"] = "\n".join((f"# {name}", "", "## Tasks", *(f"- [ ] Do {task}" for task in own), ""))
    return {"implementation.json": _text({"version": 1, "updatedBy": "plan-mode", "specs": specs}), **files}


def _session(needs: Needs) -> Files:
    planned = [f"plan-{one}" for one in ("init", "brainstorm", "research", "breakdown")]
    listed = "".join(f"- {name}: Do it\n" for name in planned)
    listed += "".join(
        f"- {name}: Do {name}\n    - **Inherits From**: {', '.join(others) or 'none'}\n"
        for name, others in needs.items()
    )
    marks = "".join(f"- [x] {name}: Do it\n" for name in planned)
    marks += "".join(f"- [ ] {name}: Do {name}\n" for name in needs)
    return {
        f"{SESSION}/plan.md": "# Weather\n\n## Goal & Success Criteria\n- it is known how warm it is\n",
        f"{SESSION}/weather.instructions.md": "Plain text.\n",
        f"{SESSION}/plan.questions.md": "## Cycle 1\n\n1. How exact?\nAnswer: one digit.\n",
        f"{SESSION}/tasks.md": listed,
        f"{SESSION}/progress.md": marks,
    }


def _text(document: Json) -> str:
    return json.dumps(document, indent=2) + "\n"


def _of_specs(text: str) -> set[str]:
    tasks = [task for spec in json.loads(text)["specs"] for task in spec["tasks"]]
    return {task["id"] for task in tasks if task["status"] == "completed"}


WORKFLOWS = (
    Workflow(
        name="feature",
        task="US-00{}",
        command=("run", "auth"),
        target="auth",
        plan=PRD,
        write=_feature,
        done=lambda text: {story["id"] for story in json.loads(text)["userStories"] if story.get("passes")},
    ),
    Workflow(
        name="request",
        task="task-00{}",
        command=("run", "request"),
        target="request",
        plan=".ralph/state.json",
        write=_request,
        done=lambda text: {name for name, so in json.loads(text)["task_statuses"].items() if so == "completed"},
    ),
    Workflow(
        name="requirements",
        task="T-00{}",
        command=("run", "requirements"),
        target="requirements",
        plan=".ralph/prd.json",
        write=_requirements,
        done=lambda text: {task["id"] for task in json.loads(text)["tasks"] if task["status"] == "done"},
    ),
    Workflow(
        name="specs",
        task="a-{}",
        command=("run", "specs"),
        target="specs",
        plan="implementation.json",
        write=_specs,
        done=_of_specs,
        has_needs=False,
    ),
    Workflow(
        name="session",
        task="task-{}",
        command=("run", "weather"),
        target="weather",
        plan=f"{SESSION}/progress.md",
        write=_session,
        done=lambda text: set(re.findall(r"\[x\] (task-\d+):", text)),
        is_parallel=False,
    ),
)
