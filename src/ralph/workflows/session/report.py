"""The output contract of a session: its state for programs, valid against a published schema."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ralph.errors import RalphError
from ralph.workflows.session.router import Mark, Mode, RoleCall, SessionState, Stuck, infer
from ralph.workflows.session.store import Session

UPDATE_NEXT = f"planner: {Mode.UPDATE.value}"
StateName = Literal["INITIALIZING", "PLANNING", "EXECUTING", "REVIEWING", "COMPLETE"]


class SessionReport(BaseModel):
    """What `ralph session --json` prints."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    status: Literal["completed", "in_progress", "blocked"]
    session_id: str
    current_state: StateName
    last_action: str
    next_action: str
    summary: str


def report(session: Session, *, last_action: str = "", blocked: str = "", update: str = "") -> SessionReport:
    """The state of a session; `blocked`: why it cannot continue without a person; `update`: what its planner must still
    take into the plan."""
    try:
        state, next_action = session.state, UPDATE_NEXT if update else next_words(session)
        wrong = session.call.reason if isinstance(session.call, Stuck) else ""
    except RalphError as error:
        state, next_action = SessionState.EXECUTING, "a person fixes the file"
        wrong = " ".join((error.what, *error.details))
    why = blocked or wrong
    is_over = not (why or update) and session.is_finished
    return SessionReport(
        status="completed" if is_over else "blocked" if why else "in_progress",
        session_id=session.id,
        current_state=state.value,
        last_action=last_action or "none yet",
        next_action="none" if is_over else f"a person decides, then {next_action}" if blocked else next_action,
        summary=why or (f"to be planned: {update}" if update else _summary(session)),
    )


def next_words(session: Session) -> str:
    """The next role, and its task."""
    if session.is_finished:
        return "none"
    call = session.call
    match call:
        case Stuck():
            return "a person fixes progress.md"
        case RoleCall(mode=Mode.EXECUTE):
            return f"executor: {call.task}, attempt {call.number}"
        case RoleCall(mode=Mode.TASK_REVIEW):
            return f"gates, then reviewer: {call.task}"
        case RoleCall(mode=Mode.SESSION_REVIEW):
            return f"reviewer: SESSION_REVIEW, iteration {call.number}"
        case RoleCall(mode=Mode.BRAINSTORM | Mode.RESEARCH):
            return f"questioner: {call.mode.value}, cycle {call.number}"
        case _:
            return f"{call.role}: {call.mode.value}"


def _summary(session: Session) -> str:
    if infer(session.items) is SessionState.INITIALIZING:
        return "nothing is planned yet"
    tasks = session.tasks
    done = sum(item.mark is Mark.DONE for item in tasks)
    planning = [item for item in session.items or () if item.is_planning]
    ready = sum(item.mark is Mark.DONE for item in planning)
    said = f"{done} of {len(tasks)} tasks done"
    if session.is_finished:
        return f"{said}; final review: {session.final_review}"
    return said if ready == len(planning) else f"planning: {ready} of {len(planning)} done; {said}"


def schema() -> str:
    made = SessionReport.model_json_schema()
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "title": "A session's output",
        "description": "The state of a session.",
    }
    return json.dumps(document, indent=2) + "\n"
