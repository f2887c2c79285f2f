"""Whether git was run in the person's repository by an agent, a gate or a hook: git itself keeps the trace.

Every program that Ralph starts for them inherits git's own tracing variables, and so does every git below it. The
trace tells their commands from the person's, which are in nobody's trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph.git.repo import Repo

MAX_READ = 32 << 20
LOOKS = re.compile(
    "blame|cat-file|count-objects|describe|diff|diff-files|diff-index|diff-tree|for-each-ref|fsck|grep|help|log|ls-files"
    "|ls-tree|merge-base|name-rev|rev-list|rev-parse|shortlog|show|show-ref|status|var|version|whatchanged"
)
"""Commands that change nothing: an agent may well look at the person's checkout."""


@dataclass(frozen=True)
class Trace:
    """The file that git writes its events to, from one position on."""

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
        """The same file, with only what comes from now on."""
        try:
            return Trace(self.file, self.file.stat().st_size)
        except OSError:
            return Trace(self.file)

    def shows_change_in(self, repo: Repo, own: Path) -> bool:
        """Whether somebody's git command worked in the person's repository, outside of `own`, and not only looked."""
        places = tuple(str(place) for place in _places(repo))
        changing: set[object] = set()
        there: set[object] = set()
        for event in self._events():
            if event.get("event") == "cmd_name" and not LOOKS.fullmatch(str(event.get("name"))):
                changing.add(event.get("sid"))
            elif any(place in text.replace(str(own), "") for text in _named(event) for place in places):
                there.add(event.get("sid"))
        return bool(changing & there)

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


def _named(event: dict[str, Any]) -> Iterable[str]:
    """The paths and arguments that an event names."""
    given = event.get("argv")
    found = [*(given if isinstance(given, list) else ()), event.get("worktree")]
    if event.get("event") == "def_param":
        found.append(event.get("value"))
    return [text for text in found if isinstance(text, str)]


def _places(repo: Repo) -> Iterator[Path]:
    """Where the person works with their repository."""
    yield repo.top
    yield repo.git_dir
    if repo.git_dir.name == ".git":
        yield repo.git_dir.parent
    for pointer in (repo.git_dir / "worktrees").glob("*/gitdir"):
        try:
            yield Path(pointer.read_text().strip()).parent
        except OSError:
            continue
