"""Where a request's files are under `.ralph/`, and how to read them from any source."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ralph import validation
from ralph.errors import RalphError
from ralph.workspace import RALPH

STATE, RESEARCH, DECISIONS, PRD = (
    f"{RALPH}/{name}" for name in ("state.json", "research.json", "decisions.json", "prd.md")
)
TASKS, RESULTS, ARCHIVE = (f"{RALPH}/{name}" for name in ("tasks", "results", "archive"))
ERRORS, EXECUTION = f"{RALPH}/logs/errors.log", f"{RALPH}/logs/execution.log"


class Files(Protocol):
    """Files by their paths below the project's root."""

    def read(self, path: str) -> bytes | None: ...

    def names(self, folder: str) -> list[str]: ...


@dataclass(frozen=True)
class FilesOnDisk:
    """Files in a folder on disk."""

    root: Path

    def read(self, path: str) -> bytes | None:
        try:
            return validation.read(self.root / path)
        except RalphError:
            if os.path.lexists(self.root / path):
                raise
            return None

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self.root / folder))  # noqa: PTH208 - names are wanted
        except OSError:
            return []


def task_file(task_id: str) -> str:
    return f"{TASKS}/{task_id}.json"


def result_file(task_id: str) -> str:
    return f"{RESULTS}/{task_id}.json"


def task_names(files: Files) -> list[str]:
    """The names of all task files."""
    return [name for name in files.names(TASKS) if name.endswith(".json") and not name.startswith(".")]


def all_paths(files: Files) -> tuple[str, ...]:
    """Every file that belongs to a request, including those that are created later."""
    ids = [name.removesuffix(".json") for name in task_names(files)]
    return (STATE, RESEARCH, DECISIONS, PRD, *map(task_file, ids), *map(result_file, ids))


def every_path(files: Files) -> tuple[str, ...]:
    """The same, and results whose tasks are gone."""
    results = [f"{RESULTS}/{name}" for name in files.names(RESULTS) if name.endswith(".json")]
    return tuple(dict.fromkeys((*all_paths(files), *results)))
