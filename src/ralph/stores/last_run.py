"""What Ralph itself knows of a plan: how the last run on it ended, and what had passed by then.

A plan is a file on a branch, so anybody may have written what it says. What is not known here is proved by the gates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from ralph import safe_files, validation
from ralph.frozen import Frozen
from ralph.plan.model import Plan, Task, TaskState
from ralph.stores import atomic, seal
from ralph.workspace import Workspace, common_git_dir

FOLDER = "last-run"
MAPS = ("passed", "repository")


class LastRun(Frozen):
    """How the last run on a plan ended, and which tasks had passed by then, each with when it did."""

    is_over: bool  # False: it is under way, or was killed
    passed: Mapping[str, str]
    repository: Mapping[str, str] = field(default_factory=dict)  # digests of git's own files when it began, by path

    def knows(self, task: Task) -> bool:
        return self.passed.get(task.id) == _moment(task)


def load(workspace: Workspace, target: str) -> LastRun | None:
    """Return what is known; None if Ralph has written nothing here, or somebody else has."""
    found_seal, _, data = (safe_files.read(_path(workspace, target)) or b"").partition(b"\n")
    if not seal.is_sealed(_purpose(target), data, found_seal):
        return None
    document = validation.parse_plainly(data)
    passed, repository = (found if isinstance(found := document.get(key), dict) else {} for key in MAPS)
    return LastRun(is_over=document.get("isOver") is True, passed=passed, repository=repository)


def save(workspace: Workspace, target: str, last: LastRun) -> None:
    """Note it, sealed."""
    maps = dict(zip(MAPS, (dict(last.passed), dict(last.repository)), strict=True))
    data = json.dumps({"isOver": last.is_over, **maps}).encode()
    whole = seal.seal(_purpose(target), data).encode() + b"\n" + data
    path = _path(workspace, target)
    if safe_files.read(path) != whole:
        atomic.write(path, whole)


def was_cut_short(workspace: Workspace) -> bool:
    """Return whether a run on any plan of the project is under way, or was killed and has no run after it."""
    names = (path.name for path in folder(workspace).glob("*"))
    return any(last and not last.is_over for last in (load(workspace, name) for name in names))


def moments(tasks: Iterable[Task]) -> dict[str, str]:
    """Return when each of the tasks passed."""
    return {task.id: _moment(task) for task in tasks if task.state is TaskState.PASSED}


def unknown(plan: Plan, last: LastRun | None, *, is_unclean: bool) -> list[Task]:
    """Return the tasks that the plan says have passed, and that Ralph did not see pass.

    Between runs a person may say so without any result; after a run that did not end by itself, an agent may have.
    """
    known = last or LastRun(is_over=False, passed={})
    passed = (task for task in plan if task.state is TaskState.PASSED and not known.knows(task))
    return [task for task in passed if task.result or is_unclean]


def _moment(task: Task) -> str:
    return task.result.completed_at if task.result else ""


def _purpose(target: str) -> str:
    return f"{FOLDER}/{target}"


def _path(workspace: Workspace, target: str) -> Path:
    return folder(workspace) / target


def folder(workspace: Workspace) -> Path:
    """Return where the notes of all plans are: below the git folder, where `git clean` does not reach."""
    shared = common_git_dir(workspace.root)
    return (shared / "ralph" if shared else workspace.records) / FOLDER
