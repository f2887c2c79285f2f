"""The sessions of a project, read: which is the newest, what each was asked for."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.journal.reader import last_end
from ralph.plan.work import Ending
from ralph.stores import atomic
from ralph.validation import nearest
from ralph.workflows.plan_source import PlanSource, plan_source
from ralph.workflows.session.files import PLAN, PROGRESS
from ralph.workflows.session.ids import REQUEST, UPDATE, below, branch_of, check_id, ids
from ralph.workflows.session.router import Mark
from ralph.workflows.session.store import Session, session_of
from ralph.workspace import SESSIONS, Workspace


class LocatedSession(Frozen):
    """A session, read."""

    id: str
    session: Session
    request: str  # as a person gave it to Ralph; empty: it began elsewhere
    touched: float
    update: str = ""  # requirements that its planner has not taken into the plan yet
    is_under_way: bool = False  # its last run has not ended, or was killed: what that did may not be on the branch yet

    @property
    def title(self) -> str:
        """What it is about, in a line."""
        heading = (line.lstrip("# ").strip() for line in self.session.texts.get(PLAN, "").splitlines() if line.strip())
        return " ".join((self.request or next(heading, "")).split())


def source_of(workspace: Workspace, session_id: str) -> PlanSource:
    """Where a session's files are."""
    return plan_source(workspace, branch_of(session_id), f"{SESSIONS}/{session_id}/{PROGRESS}")


def read(workspace: Workspace, session_id: str) -> LocatedSession:
    from ralph.stores import crash_file

    source = source_of(workspace, session_id)
    kept = workspace.records / session_id / REQUEST
    folder = source.folder / SESSIONS / session_id if source.folder else None
    touched = [path.stat().st_mtime for path in (kept, *(below(folder) if folder else ())) if path.exists()]
    if source.branch:
        touched.append(git_read.time_of(workspace.root, source.branch.name))
    return LocatedSession(
        id=session_id,
        session=session_of(source.files_in(f"{SESSIONS}/{session_id}"), session_id),
        request=_kept(workspace, session_id, REQUEST),
        update=waiting_update(workspace, session_id),
        touched=max(touched, default=0.0),
        is_under_way=bool(crash_file.tip_of(workspace, session_id)),
    )


def find(workspace: Workspace, session_id: str) -> LocatedSession:
    """The session of this id, or an error that names the nearest."""
    check_id(session_id)
    names = ids(workspace)
    if session_id not in names:
        raise RalphError(
            f"There is no session {session_id!r}{nearest(session_id, names) or '.'}",
            remedy='`ralph session list` lists them. To start a new one: `ralph session "What you want"`.',
        )
    return read(workspace, session_id)


def everything(workspace: Workspace) -> list[LocatedSession]:
    """All sessions, the one that was last worked on first."""
    return sorted((read(workspace, name) for name in ids(workspace)), key=lambda found: found.touched, reverse=True)


def is_finished(found: LocatedSession) -> bool:
    """What cannot be read is not finished, nor is what a killed run left, or what has an update to plan."""
    try:
        return found.session.is_finished and not found.is_under_way and not found.update
    except RalphError:
        return False


def why_blocked(workspace: Workspace, found: LocatedSession) -> str:
    """Why its last run could not continue; empty: it can, or a person has accepted the blocked task."""
    ended = last_end(workspace.logs, found.id)
    if not ended or ended.ending not in (Ending.BLOCKED, Ending.STOPPED) or is_finished(found):
        return ""
    try:
        return "" if found.session.mark(ended.reason.partition(":")[0]) is Mark.DONE else ended.reason
    except RalphError:
        return ended.reason


def begin(workspace: Workspace, session_id: str, request: str) -> None:
    """Remember what a session was asked for, until its planner has written the plan."""
    atomic.write(workspace.records / session_id / REQUEST, f"{request.strip()}\n".encode())


def keep_update(workspace: Workspace, session_id: str, update: str) -> None:
    """Remember added requirements until the planner has taken them into the plan, however often that fails."""
    text = added(waiting_update(workspace, session_id), update)
    atomic.write(workspace.records / session_id / UPDATE, f"{text}\n".encode())


def waiting_update(workspace: Workspace, session_id: str) -> str:
    """Added requirements that the planner has not taken into the plan yet; empty: there are none."""
    return _kept(workspace, session_id, UPDATE)


def forget_update(workspace: Workspace, session_id: str) -> None:
    (workspace.records / session_id / UPDATE).unlink(missing_ok=True)


def added(known: str, update: str) -> str:
    """Requirements that wait already, and further ones; the same ones only once."""
    return "\n\n".join(dict.fromkeys(text for text in (known, update.strip()) if text))


def _kept(workspace: Workspace, session_id: str, name: str) -> str:
    path = workspace.records / session_id / name
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
