"""Detects git commands that agents, gates or hooks ran in the person's repository, from git's own trace.

Every program that Ralph starts for them inherits git's tracing variables, and so does every git below it. The person's
own commands do not appear in the trace.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ralph.git.repo import Repo

MAX_READ = 32 << 20
Span = tuple[float, float]
"""Start and end, in seconds since 1970."""
READ_ONLY = re.compile(
    "blame|cat-file|count-objects|describe|diff|diff-files|diff-index|diff-tree|for-each-ref|fsck|grep|help|log|ls-files"
    "|ls-tree|merge-base|name-rev|rev-list|rev-parse|shortlog|show|show-ref|status|var|version|whatchanged"
)
"""Commands that change nothing: an agent may read the person's checkout."""


@dataclass(frozen=True)
class Trace:
    """The file to which git writes its events, read from one position on."""

    file: Path
    start: int = 0

    @property
    def variables(self) -> dict[str, str]:
        return {
            "GIT_TRACE2_EVENT": str(self.file),
            "GIT_TRACE2_EVENT_BRIEF": "1",
            "GIT_TRACE2_EVENT_NESTING": "1",
            "GIT_TRACE2_ENV_VARS": "GIT_DIR,PWD",
        }

    def from_here(self) -> Trace:
        """Return the same trace, starting at its current end."""
        try:
            return Trace(self.file, self.file.stat().st_size)
        except OSError:
            return Trace(self.file)

    def changes_in(self, repo: Repo, own: Path) -> list[Span]:
        """Return when traced commands ran in the person's repository, outside `own`, that were not read-only."""
        folders = tuple(_folders(repo))
        commands: dict[object, _Command] = {}
        for event in self._events():
            commands.setdefault(event.get("sid"), _Command()).add(event)
        return [
            (command.began, command.ended)
            for command in commands.values()
            if not command.is_read_only
            and any(_is_in(path, folders) and not _is_in(path, (own,)) for path in command.paths())
        ]

    def _events(self) -> Iterator[dict[str, Any]]:
        try:
            with self.file.open("rb") as file:
                file.seek(self.start)
                lines = file.read(MAX_READ).splitlines()
        except OSError:
            return
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event


@dataclass
class _Command:
    """One git command, as far as its events describe it."""

    is_read_only: bool = False
    folder: str = ""  # the folder in which it started
    named: list[str] = field(default_factory=list)
    began: float = 0.0
    ended: float = math.inf

    def add(self, event: dict[str, Any]) -> None:
        name, value = event.get("event"), event.get("value")
        if name == "version":
            self.began = _seconds(event, self.began)
        elif name == "atexit":
            self.ended = _seconds(event, self.ended)
        elif name == "cmd_name":
            self.is_read_only = bool(READ_ONLY.fullmatch(str(event.get("name"))))
        elif name == "start" and isinstance(event.get("argv"), list):
            self.named += [str(text).removeprefix("--git-dir=").removeprefix("--work-tree=") for text in event["argv"]]
        elif name == "def_repo":
            self.named.append(str(event.get("worktree")))
        elif name == "def_param" and event.get("param") == "PWD":
            self.folder = str(value)
        elif name == "def_param" and event.get("param") == "GIT_DIR":
            self.named.append(str(value))

    def paths(self) -> Iterator[Path]:
        """Return the command's arguments and folders as paths; most are not paths and match nothing."""
        for text in (self.folder, *self.named):
            yield Path(os.path.normpath(Path(self.folder or "/", text)))


def _seconds(event: dict[str, Any], otherwise: float) -> float:
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp()
    except ValueError:
        return otherwise


def _is_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(folder == path or folder in path.parents for folder in folders)


def _folders(repo: Repo) -> Iterator[Path]:
    """Return the folders of the person's repository and its worktrees."""
    yield repo.top
    yield repo.git_dir
    if repo.git_dir.name == ".git":
        yield repo.git_dir.parent
    for pointer in (repo.git_dir / "worktrees").glob("*/gitdir"):
        try:
            yield Path(pointer.read_text().strip()).parent
        except OSError:
            continue
