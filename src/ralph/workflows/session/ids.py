"""The ids of a project's sessions, found without reading any session."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workspace import FEATURE_NAME, SESSIONS, TARGETS, Workspace

REQUEST = "request.txt"
UPDATE = "update.txt"
MAX_SLUG = 40


def check_id(name: str) -> str:
    """A session's id as a person gave it; anything that could leave the folder is refused."""
    if not FEATURE_NAME.fullmatch(name) or len(name) > 80 or name.endswith(".lock") or name in TARGETS:
        raise RalphError(
            f"{name!r} is not a valid session id.",
            remedy="Use letters, digits, '-', '_' and single dots. Reserved words: "
            f"{', '.join(TARGETS)}. `ralph session list` lists all sessions.",
        )
    return name


def new_id(workspace: Workspace, request: str, now: datetime) -> str:
    """A name for a new session: when it began, and its first words."""
    words = re.sub(r"[^a-z0-9]+", "-", request.lower()).strip("-")
    slug = words[:MAX_SLUG].rpartition("-")[0] or words[:MAX_SLUG] if len(words) > MAX_SLUG else words
    name = f"{now:%Y%m%d-%H%M%S}" + (f"-{slug}" if slug else "")
    taken = set(ids(workspace))
    names = (name if count == 1 else f"{name}-{count}" for count in range(1, len(taken) + 2))
    return next(one for one in names if one not in taken)


def ids(workspace: Workspace) -> list[str]:
    """Every session there is: on a branch, in this checkout, or begun and without files yet."""
    landed = [name for branch in git_read.branches(workspace.root) for name in _landed(workspace, branch)]
    return sorted({name for name in (*_begun(workspace), *landed) if FEATURE_NAME.fullmatch(name)})


def has(workspace: Workspace, session_id: str) -> bool:
    if not FEATURE_NAME.fullmatch(session_id):
        return False
    branch = branch_of(session_id)
    landed = _landed(workspace, branch) if branch in git_read.branches(workspace.root) else []
    return session_id in (*_begun(workspace), *landed)


def branch_of(session_id: str) -> str:
    """The branch on which a session's work lands."""
    return f"{BRANCH_PREFIX}{session_id}"


def _begun(workspace: Workspace) -> list[str]:
    """The sessions in this checkout, and those without files yet."""
    folders = [path.name for path in below(workspace.root / SESSIONS) if path.is_dir() and not path.is_symlink()]
    return [*folders, *(path.name for path in below(workspace.records) if (path / REQUEST).is_file())]


def _landed(workspace: Workspace, branch: str) -> list[str]:
    """The session whose branch this is, if it is one."""
    if not branch.startswith(BRANCH_PREFIX):
        return []
    return [name for name in git_read.names_at(workspace.root, branch, SESSIONS) if branch_of(name) == branch]


def below(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
