"""The projects that a dashboard shows, and what only the commands know about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.model import Plan
from ralph.workflows.target import Target
from ralph.workspace import Workspace, find

MAX_PROJECTS = 20


class CommandFacts(Frozen):
    """What the command line knows: the views do not import it."""

    unseen: Callable[[Workspace, Plan], Mapping[str, str]]  # why no page of a UI task was opened
    plan_of: Callable[[Workspace, Target], Plan | None]


class WebProject(Frozen):
    """One project. Addresses name it by its number, never by its path."""

    number: int
    workspace: Workspace

    @property
    def name(self) -> str:
        return self.workspace.root.name or str(self.workspace.root)


def projects(paths: Iterable[Path]) -> tuple[WebProject, ...]:
    """Return the projects that these folders are in, each once."""
    roots = list(dict.fromkeys(find(path.resolve()).root.resolve() for path in paths))
    if len(roots) > MAX_PROJECTS:
        raise RalphError(f"{len(roots)} projects are too many for one dashboard; {MAX_PROJECTS} fit.")
    return tuple(WebProject(number=number, workspace=Workspace(root=root)) for number, root in enumerate(roots))
