"""The sessions of a project as targets."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.workflows.session.ids import has, ids
from ralph.workflows.target import Target
from ralph.workspace import SESSIONS, Workspace


def find(workspace: Workspace, name: str) -> Target | None:
    return _target(workspace, name) if has(workspace, name) else None


def everything(workspace: Workspace) -> list[Target]:
    """Every session, oldest first."""
    return [_target(workspace, session_id) for session_id in ids(workspace)]


def _target(workspace: Workspace, session_id: str) -> Target:
    # every command that finds a plan by its name asks here, and few projects have sessions
    from ralph.workflows.session import locate
    from ralph.workflows.session.files import PROGRESS
    from ralph.workflows.session.store import SessionStore

    source = locate.source_of(workspace, session_id)
    file = f"{SESSIONS}/{session_id}/{PROGRESS}"
    return Target(
        name=session_id,
        workflow="session",
        command=f"ralph run {session_id}",
        file=file,
        folder=source.folder,
        repo=workspace.root,
        branch=source.branch,
        where=source.where,
        read=lambda: source.read(file),
        store=lambda: SessionStore(
            source.folder or workspace.root, session_id, files=source.files_in(f"{SESSIONS}/{session_id}")
        ),
        draft="not planned yet",
        unplanned=None
        if source.read(file) is not None
        else RalphError("This session is not planned yet.", remedy=f"Plan it with `ralph run {session_id}`."),
        is_agreed=lambda _: locate.is_finished(locate.read(workspace, session_id)),
        marked_by=f"Run `ralph run {session_id}` to retry blocked tasks.",
    )
