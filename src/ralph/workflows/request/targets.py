"""The request of a project as a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.errors import RalphError
from ralph.workflows.request import locate
from ralph.workflows.request.files import STATE, all_paths
from ralph.workflows.request.phases import NEXT_STEP, UNPLANNED, Phase
from ralph.workflows.target import Target
from ralph.workspace import TARGETS, Workspace

if TYPE_CHECKING:
    from ralph.workflows.request.store import RequestStore

REQUEST = TARGETS[2]


def find(workspace: Workspace, name: str) -> Target | None:
    if name != REQUEST:
        return None
    located = locate.locate(workspace)
    if located is None:
        raise RalphError(
            "There is no request: .ralph/state.json does not exist.",
            remedy='Make one with `ralph plan "What you want"`.',
        )
    return _target(workspace, located)


def everything(workspace: Workspace) -> list[Target]:
    located = locate.locate(workspace)
    return [_target(workspace, located)] if located else []


def _target(workspace: Workspace, located: locate.LocatedRequest) -> Target:
    phase = located.phase
    return Target(
        name=REQUEST,
        workflow=REQUEST,
        command=f"ralph run {REQUEST}",
        plan_command="ralph plan",
        file=STATE,
        folder=located.folder,
        repo=workspace.root,
        branch=located.branch,
        where=located.where,
        read=lambda: located.state,
        store=lambda: _request_store(workspace, located),
        files=all_paths(located.files),
        draft=f"not planned yet, phase {phase.value}" if phase else "",
        unplanned=_unplanned(phase) if phase in UNPLANNED else None,
    )


def _unplanned(phase: Phase) -> RalphError:
    return RalphError(
        f"The request is not planned yet: its phase is {phase.value!r}.",
        remedy=f"{NEXT_STEP[phase][0].upper()}{NEXT_STEP[phase][1:]}.",
    )


def _request_store(workspace: Workspace, located: locate.LocatedRequest) -> RequestStore:
    from ralph.workflows.request.store import RequestStore

    return RequestStore(located.folder or workspace.root, located.files)
