"""What the specs workflow's tests share: a project with specs and a plan, and what an agent does with its tasks."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Project

Json = dict[str, Any]
BRANCH, PENDING = "ralph/specs", "refs/ralph/pending/specs"


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
    return json.loads(project.truth("specs", "implementation.json"))


def progress(project: Project) -> str:
    return project.truth("specs", "PROGRESS.md")


def tasks(project: Project) -> dict[str, Json]:
    return {one["id"]: one for entry in plan(project)["specs"] for one in entry["tasks"]}


def statuses(project: Project) -> dict[str, str]:
    """The status of every spec and every task."""
    entries = {entry["id"]: entry["status"] for entry in plan(project)["specs"]}
    return {**entries, **{name: one["status"] for name, one in tasks(project).items()}}


def subjects(project: Project) -> list[str]:
    """The branch's commits, newest first, without Ralph's state commits."""
    return [line for line in project.subjects(BRANCH) if line != "chore: update implementation.json"]


def commit_of(project: Project, subject: str) -> str:
    """The newest commit of this subject on the branch."""
    return project.git("log", "-1", "--format=%H", f"--grep=^{subject}$", "--extended-regexp", BRANCH)


def made(project: Project, commit: str) -> list[str]:
    """The files that a commit changed, without Ralph's own."""
    names = project.git("show", "--format=", "--name-only", commit).splitlines()
    return [name for name in names if not name.endswith(("implementation.json", "PROGRESS.md"))]


def waits(project: Project) -> list[str]:
    """The files of passed work that waits for its spec's commit, without Ralph's own."""
    if not project.git("for-each-ref", PENDING):
        return []
    names = project.git("diff", "--name-only", BRANCH, PENDING).splitlines()
    return [name for name in names if not name.endswith(("implementation.json", "PROGRESS.md"))]


def commits(project: Project, subject: str, **files: str) -> None:
    """A person commits on Ralph's branch, in a worktree of their own, and removes it again."""
    theirs = project.folder / "theirs"
    project.git("worktree", "add", "-q", str(theirs), BRANCH)
    for name, text in files.items():
        (theirs / name.replace("__", ".")).write_text(text)
    project.git("-C", str(theirs), "add", "-A")
    project.git("-C", str(theirs), "commit", "-q", "--no-verify", "-m", subject)
    project.git("worktree", "remove", "--force", str(theirs))


def is_left_alone(project: Project, *changes: str) -> None:
    """The person's checkout is as they left it: its branch, its commits, its files."""
    assert project.git("branch", "--show-current") == "main"
    assert not [line for line in project.subjects("main") if line.startswith(("feat: ", "chore: "))]
    assert [line for line in project.status() if line != "?? .ralph/"] == list(changes)
