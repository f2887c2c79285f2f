"""The features of a project as targets."""

from __future__ import annotations

from ralph.workflows.feature import locate
from ralph.workflows.feature.locate import LocatedFeature
from ralph.workflows.feature.store import PrdStore
from ralph.workflows.target import Target
from ralph.workspace import Workspace, check_name


def find(workspace: Workspace, name: str) -> Target | None:
    """The newest feature of this name; an error for what cannot be a name."""
    found = locate.everything(workspace, only=check_name(name))
    return _target(workspace, found[-1]) if found else None


def everything(workspace: Workspace) -> list[Target]:
    """Every feature, oldest first."""
    return [_target(workspace, located) for located in locate.everything(workspace)]


def _target(workspace: Workspace, located: LocatedFeature) -> Target:
    feature = located.feature
    folder = located.folder or workspace.root
    return Target(
        name=feature.name,
        workflow="feature",
        command=f"ralph run {feature.name}",
        plan_command=f"ralph plan {feature.name}",
        file=feature.prd_json,
        folder=located.folder,
        repo=workspace.root,
        branch=located.branch,
        is_agreed=lambda plan: bool(plan.review.verified_at),
        where=located.where,
        read=lambda: located.read(workspace.root, feature.prd_json),
        store=lambda: PrdStore(folder / feature.prd_json, feature.name),
    )
