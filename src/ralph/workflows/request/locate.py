"""Finds the request of a project: on disk, or on the branch that has its plan."""

from __future__ import annotations

import re
from pathlib import Path

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.git.read import Branch
from ralph.validation import Json, Mistakes, parse_object
from ralph.workflows.plan_source import BRANCH_PREFIX, plan_source
from ralph.workflows.request.files import ARCHIVE, STATE, Files, FilesOnDisk
from ralph.workflows.request.phases import Phase
from ralph.workspace import Workspace

NAME = f"{BRANCH_PREFIX}request"
OURS = re.compile(rf"{NAME}(-\d+)?")


class LocatedRequest(Frozen):
    """A request, and where its plan's current version is."""

    files: Files
    state: bytes
    folder: Path | None  # a project root on disk that has it; None: only on its branch
    branch: Branch | None  # None: in the checkout

    @property
    def created(self) -> str:
        return str(_document(self.state).get("created_at", ""))

    @property
    def request(self) -> str:
        return " ".join(str(_document(self.state).get("original_request", "")).split())

    @property
    def phase(self) -> Phase | None:
        """None if the state names an unknown phase."""
        named = _document(self.state).get("phase")
        return next((phase for phase in Phase if phase.value == named), None)

    @property
    def archive(self) -> str:
        """Its folder in the archive, named after its start time in a form that every file system allows."""
        return f"{ARCHIVE}/{re.sub(r'[^0-9A-Za-z.+-]', '-', self.created) or 'unknown'}"

    @property
    def where(self) -> str:
        return str(self.folder) if self.folder else f"branch {self.branch.name if self.branch else '?'}"


def located_request(workspace: Workspace) -> LocatedRequest:
    """The request, or an error that says how to make one."""
    located = locate(workspace)
    if located is None:
        raise RalphError(
            "There is no request to run.",
            remedy='Make one with `ralph plan "What you want"`. For specs, run `ralph plan --from specs/`.',
        )
    return located


def locate(workspace: Workspace) -> LocatedRequest | None:
    """The newest request that is not archived; from its branch, if it has one."""
    root = workspace.root
    state = FilesOnDisk(root).read(STATE)
    here = LocatedRequest(files=FilesOnDisk(root), state=state, folder=root, branch=None) if state is not None else None
    found = [here] if here else []
    branches = git_read.branches(root)
    for branch in branches.values():
        there = _on(workspace, branch, branches) if OURS.fullmatch(branch.name) else None
        if there and (_document(there.state).get("branch") == branch.name or (here and there.created == here.created)):
            found.append(there)
    known = [located for located in found if not (root / located.archive / "state.json").is_file()]
    return max(known, key=lambda located: (located.created, located.branch is not None), default=None)


def branch_for(workspace: Workspace, located: LocatedRequest) -> str:
    """The branch on which the tasks' work lands: the request's own, or a new name."""
    if located.branch:
        return located.branch.name
    taken = git_read.branches(workspace.root)
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := NAME if number == 1 else f"{NAME}-{number}") not in taken
    )


def _on(workspace: Workspace, branch: Branch, branches: dict[str, Branch]) -> LocatedRequest | None:
    source = plan_source(workspace, branch.name, STATE, branches=branches)
    state = source.read(STATE)
    is_here = branch.worktree is not None and workspace.root.resolve().is_relative_to(branch.worktree.resolve())
    if state is None or (source.folder == workspace.root and not is_here):
        return None
    return LocatedRequest(files=source, state=state, folder=source.folder, branch=branch)


def _document(state: bytes) -> Json:
    try:
        return parse_object(state, name=STATE)
    except Mistakes:
        return {}
