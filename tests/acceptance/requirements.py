"""Projects of the requirements workflow: an empty folder, or one whose plan, prompts and steps are there already."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ralph import prompts
from tests.conftest import RALPH, Project, processes_in, wait_for

WORK = {"name": "work", "type": "agent", "config": {"prompt_file": ".ralph/prompts/LOOP_PROMPT.md"}}
SETUP = {
    "name": "setup",
    "type": "agent",
    "config": {"prompt_file": ".ralph/prompts/SETUP_PROMPT.md", "marker_file": ".ralph/.setup_done"},
}
VERIFY = {"type": "verify"}
COMMIT = {"type": "git-commit"}
REVIEW = {"type": "review"}
REQUIREMENTS = "# A shop\n\nIt sells one thing and then two.\n"

SETTING_UP = "# Ralph Setup"
REVIEWING = "# Task Review"
PLANNING = "# From Requirements to Tasks"
ADDING = "# New Work"
COMPACTING = "# Compact These Notes"
BRANCH = "ralph/requirements"
SEEN = "../../.."  # `.ralph/` from where an agent works or a gate runs, if the application is a repository of its own


class Empty(Project):
    """A folder with requirements in it and nothing else; no git."""

    inner = ""  # the application's folder below the project

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.rmtree(self.path / ".git")
        (self.path / "app.txt").unlink()
        self.write("requirements.md", REQUIREMENTS)

    @property
    def app(self) -> Path:
        return self.path / self.inner

    def git(self, *args: str, check: bool = True) -> str:
        """Git, where the application is."""
        return super().git("-C", str(self.app), *args, check=check)

    @property
    def tip(self) -> str:
        """Where the work lands; before the first run, what a person has committed."""
        return BRANCH if self.git("branch", "--list", BRANCH) else "HEAD"

    def subjects(self, revision: str = "") -> list[str]:
        return super().subjects(revision or self.tip)

    def kept(self, name: str) -> str:
        """One of the plan's files, where its truth is."""
        return self.truth("requirements", name)

    def plan(self, feature: str = "requirements") -> dict[str, Any]:
        plan = json.loads(self.kept(".ralph/prd.json"))
        assert isinstance(plan, dict)
        return plan

    def task(self, task_id: str = "T-001") -> dict[str, Any]:
        return next(task for task in self.plan()["tasks"] if task["id"] == task_id)

    def json(self, name: str) -> dict[str, Any]:
        read = json.loads(self.read(name))
        assert isinstance(read, dict)
        return read

    def errors(self, *args: str, code: int = 1, env: dict[str, str] | None = None) -> str:
        """What a command that refuses says; in three parts, the last of them a remedy."""
        said = self.ralph(*args, code=code, env=env).stderr
        assert said.startswith("ralph: "), said
        assert "\n→ " in said, said
        return said

    def files(self) -> dict[str, bytes]:
        """Everything below the test's folder but git's, calls, logs, working copies, receipts, what a run remembers."""
        skipped = {".git", "logs", "run", "worktrees", "receipts", self.state_file.parent.name}
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not skipped.intersection(path.relative_to(self.folder).parts)
        }

    def repositories(self) -> list[Path]:
        """The person's, without those in which agents work."""
        worktrees = self.path / ".ralph/worktrees"
        return [path.parent for path in self.path.rglob(".git") if worktrees not in path.parents]

    def reached(self, name: str) -> None:
        """Wait until an agent, a gate or a step has made this file beside the project."""
        wait_for((self.folder / name).exists, what=name)

    def claude(self, text: str) -> None:
        """A program called `claude` for the path: a shell script instead of the real one."""
        program = self.folder / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}")
        program.chmod(0o755)
        self.env["PATH"] = f"{program.parent}:{self.env['PATH']}"


class Founded(Empty):
    """A project as `ralph init --requirements` leaves it, made without any agent."""

    def __init__(self, folder: Path, inner: str = "shop", repository: str = "shop") -> None:
        super().__init__(folder)
        self.inner, self.is_apart = inner, bool(repository)
        self.app.mkdir(exist_ok=True)
        self.git("init", "-q", str(self.path / repository))
        self.git("commit", "-q", "--allow-empty", "-m", "chore: begin")
        (self.path / "requirements.md").unlink()
        self.write(".ralph/requirements.md", REQUIREMENTS)
        for name in ("SETUP_PROMPT", "LOOP_PROMPT"):
            self.write(f".ralph/prompts/{name}.md", prompts.built_in(name))
        self.steps(WORK, VERIFY, COMMIT)
        self.tasks("One", "Two")
        self.config("true")

    def config(self, *gates: str, **more: Any) -> None:
        """With the application in a repository of its own, its branch follows Ralph's."""
        commits = {"commits": {"branch": "current"}} if self.is_apart else {}
        super().config(*gates, **{**commits, **more})

    def steps(self, *steps: dict[str, Any], name: str = "default", **more: Any) -> None:
        self.write(f".ralph/configs/{name}.json", json.dumps({"steps": list(steps), **more}, indent=2))

    def tasks(self, *tasks: str | dict[str, Any], **more: Any) -> None:
        full = []
        for number, task in enumerate(tasks, 1):
            given = {"title": task} if isinstance(task, str) else task
            full.append({"id": f"T-{number:03}", "acceptance_criteria": ["It works"], "status": "todo", **given})
        document = {"version": 1, "project": "shop", "app": self.inner, "description": "A shop", "tasks": full}
        self.write(".ralph/prd.json", json.dumps({**document, **more}, indent=2))

    def agent(self, text: str) -> None:
        """A shell script as the agent: it starts at once, where the scripted one takes a third of a second."""
        file = self.folder / "agent.sh"
        file.write_text(text)
        config = self.json("ralph.config.json")
        config["provider"] = {"command": "/bin/sh", "args": [str(file)]}
        self.write("ralph.config.json", json.dumps(config, indent=2))

    def committed(self, name: str) -> str:
        """What the branch holds of one of the application's files."""
        return self.git("show", f"{self.tip}:./{name}")

    def landed_files(self) -> list[str]:
        """The application's files on the branch, without Ralph's own."""
        return [name for name in self.files_in(self.tip) if not name.startswith(".ralph/")]

    def untouched(self, branch: str = "main") -> None:
        """The person's checkout is as they left it: their branch, their files; behind Ralph's unless it follows."""
        assert self.git("branch", "--show-current") == branch
        assert self.git("status", "--porcelain", "--untracked-files=no") == ""
        if self.is_apart:
            assert self.git("rev-parse", "HEAD") == self.git("rev-parse", self.tip), "its branch has followed"
        else:
            made = set(self.landed_files()) - set(self.files_in("HEAD"))
            assert not [name for name in made if (self.app / name).exists()], "what agents made is on Ralph's branch"

    def states(self) -> dict[str, str]:
        return {task["id"]: task["status"] for task in self.plan()["tasks"]}

    def valid(self, file: str, schema: str) -> dict[str, Any]:
        """A file of Ralph's, as its published schema wants it."""
        document = self.json(file)
        check(document, schema)
        return document

    def aggregate(self) -> dict[str, Any]:
        return self.valid(".ralph/aggregate.json", "aggregate")

    def run_state(self) -> dict[str, Any]:
        return self.valid(".ralph/run_state.json", "run-state")

    def commits_of(self, task_id: str) -> int:
        return sum(f" {task_id} " in f" {subject} " for subject in self.subjects())


@cache
def _schema(name: str) -> dict[str, Any]:
    printed = subprocess.run([str(RALPH), "schema", name], capture_output=True, text=True, check=True)
    schema = json.loads(printed.stdout)
    assert isinstance(schema, dict)
    return schema


def check(document: object, schema: str) -> None:
    """Whether a document is what `ralph schema` says."""
    jsonschema.validate(document, _schema(schema))


def does(task_id: str, name: str, text: str = "x\n", **more: Any) -> dict[str, Any]:
    """A turn that does a task by writing one file; Ralph commits it."""
    return {"match": rf"# Ralph Loop[\s\S]*\*\*ID:\*\* {task_id}\b", "write": {name: text}, "done": True, **more}


def marks(task_id: str, status: str, name: str = "prd.json", **fields: str) -> str:
    """A shell command that sets a task's status in the plan, as an agent is told to, wherever it sees the plan."""
    code = (
        "import json, os, sys; p = next(filter(os.path.exists, sys.argv[1:])); d = json.load(open(p)); "
        f"[t.update({ {'status': status, **fields}!r}) for t in d['tasks'] if t['id'] == {task_id!r}]; "
        "json.dump(d, open(p, 'w'))"
    )
    return f'python3 -c "{code}" .ralph/{name} ../.ralph/{name} {SEEN}/{name}'


def guarded(made: Empty, folder: Path) -> Iterator[Any]:
    """The project; and when the test has ended no process may be left."""
    yield made
    leftovers = processes_in(folder)
    for pid in leftovers:
        os.kill(pid, signal.SIGKILL)
    assert not leftovers, f"processes outlived the test: {leftovers}"


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Empty]:
    yield from guarded(Empty(tmp_path), tmp_path)


LAYOUTS = {
    "a repository of its own": ("shop", "shop"),  # the application's, below the project
    "the project's repository": ("", ""),  # the application is all of it, `.ralph/` included
    "a folder of the project's repository": ("web", ""),
}


@pytest.fixture
def founded(tmp_path: Path) -> Iterator[Founded]:
    """The application is a repository of its own below the project."""
    yield from guarded(Founded(tmp_path), tmp_path)


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Founded]:
    """The project is a repository, and the application is all of it: `.ralph/` lies in the same repository."""
    yield from guarded(Founded(tmp_path, *LAYOUTS["the project's repository"]), tmp_path)


@pytest.fixture(params=LAYOUTS)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Founded]:
    """Each place where an application can be."""
    yield from guarded(Founded(tmp_path, *LAYOUTS[request.param]), tmp_path)
