"""Creates a project from requirements: its tasks, prompts and steps, and a repository for the application."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic_core import to_json

from ralph import prompts
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.git.repo import commit_first, make_repo, open_repo
from ralph.steps import pipeline
from ralph.steps.pipeline import CONFIGS, PLAN
from ralph.stores import atomic
from ralph.validation import Json
from ralph.workflows.requirements.workflow import REQUIREMENTS
from ralph.workspace import RALPH, Workspace, is_inside

PROMPTS = ("SETUP_PROMPT", "LOOP_PROMPT")
STEPS_SCHEMA = f"{RALPH}/steps.schema.json"
MAX_BYTES = 1 << 20


class Scaffold(Frozen):
    """What to create, checked before any agent is called."""

    workspace: Workspace
    source: Path
    requirements: bytes
    app: str  # relative to the root; empty: the root itself

    @classmethod
    def check(cls, workspace: Workspace, source: Path, app: str | None) -> Scaffold:
        if (workspace.root / PLAN).exists():
            raise RalphError(
                f"A plan already exists: {PLAN}.",
                remedy='Add tasks with `ralph add "more work"`, or show the plan with `ralph status requirements`.',
            )
        pipeline.schema_text()  # report a package that cannot be loaded before calling an agent
        chosen = _default_app(workspace.root) if app is None else "" if app in (".", "./") else app.rstrip("/")
        if not is_inside(chosen) or chosen.split("/")[0] in (RALPH, ".git"):
            raise RalphError(f"{app!r} cannot be the application's folder.", remedy="Name a folder inside this one.")
        if (workspace.root / chosen).exists() and not (workspace.root / chosen).is_dir():
            raise RalphError(f"{chosen} is a file, but the application needs a folder.", remedy="Use --app NAME.")
        return cls(workspace=workspace, source=source, requirements=_read(source), app=chosen)

    @property
    def is_apart(self) -> bool:
        """Whether the application has, or will have, its own repository below the project."""
        root = self.workspace.root.resolve()
        folder = root / self.app
        top = git_read.top(folder if folder.is_dir() else root) or folder
        return root in top.parents

    async def write(self, document: Json) -> list[str]:
        """Make everything that is missing. The plan comes last: it makes the folder a project."""
        root = self.workspace.root
        made = await self._make_repository()
        made += _write_missing(root, {REQUIREMENTS: self.requirements, **_step_files()})
        name = document.get("project") or self.app or root.name
        plan = {"version": 1, "project": name, "app": self.app, "description": "", "tasks": []}
        plan.update({key: value for key, value in document.items() if key != "project"})
        atomic.write(root / PLAN, to_json(plan, indent=2) + b"\n")
        return [*made, PLAN]

    async def _make_repository(self) -> list[str]:
        """A repository with a first commit, unless the application's folder is in one that has commits."""
        folder = self.workspace.root / self.app
        made = [] if folder.exists() else [f"{self.app}/"]
        folder.mkdir(parents=True, exist_ok=True)
        if git_read.top(folder) is None:
            await make_repo(folder)
            made.append(f"{self.app}/.git/" if self.app else ".git/")
        repo = await open_repo(folder)
        if not await repo.head():
            await commit_first(repo, "chore: begin")
        return made


def complete_steps(workspace: Workspace) -> list[str]:
    """Make the default step configuration and what it names, for a plan that a person wrote without one."""
    has_plan = (workspace.root / PLAN).is_file()
    return _write_missing(workspace.root, _step_files()) if has_plan and not pipeline.names(workspace) else []


def _step_files() -> dict[str, bytes]:
    return {
        **{f"{RALPH}/prompts/{name}.md": prompts.built_in(name).encode() for name in PROMPTS},
        STEPS_SCHEMA: pipeline.schema_text().encode(),
        f"{CONFIGS}/default.json": (json.dumps(default_steps(), indent=2) + "\n").encode(),
    }


def _write_missing(root: Path, files: dict[str, bytes]) -> list[str]:
    missing = [path for path in files if not (root / path).exists()]
    for path in missing:
        atomic.write(root / path, files[path])
    return missing


def default_steps() -> Json:
    """The steps of a new project: set-up once, then agent, gates and commit in every loop."""
    return {
        "$schema": "../steps.schema.json",
        "name": "default",
        "description": "Set-up once; then a fresh agent, the gates and a commit in every loop",
        "max_loops_per_task": 10,
        "stuck_after": 3,
        "steps": [
            {
                "name": "setup",
                "type": "agent",
                "enabled": True,
                "timeout": "20m",
                "config": {
                    "prompt_file": f"{RALPH}/prompts/SETUP_PROMPT.md",
                    "prd_file": PLAN,
                    "marker_file": f"{RALPH}/.setup_done",
                },
            },
            {
                "name": "work",
                "type": "agent",
                "enabled": True,
                "timeout": "20m",
                "circuit_breaker": {"threshold": 5, "reset_after": "5m"},
                "config": {
                    "prompt_file": f"{RALPH}/prompts/LOOP_PROMPT.md",
                    "prd_file": PLAN,
                    "timeout": "15m",
                },
            },
            {"name": "verify", "type": "verify", "enabled": True},
            {"name": "git-commit", "type": "git-commit", "enabled": True},
        ],
    }


def _read(source: Path) -> bytes:
    if not source.is_file():
        raise RalphError(
            f"{source} does not exist.", remedy="Describe what you want in a Markdown file, and name that file."
        )
    if source.stat().st_size > MAX_BYTES:
        raise RalphError(f"{source} is larger than a megabyte.", remedy="Requirements are text. Shorten the file.")
    data = source.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RalphError(f"{source} is not UTF-8 text.", remedy="Save it as UTF-8 Markdown.") from None
    if not text.strip():
        raise RalphError(f"{source} is empty.", remedy="Describe what you want. Ten lines are enough.")
    return data


def _default_app(root: Path) -> str:
    """Inside a repository: all of it. Elsewhere: a folder with the project's name."""
    if git_read.top(root) is not None:
        return ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.") or "app"
