"""Finds a feature on disk and on its branch, whatever is checked out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ralph import validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.git.read import Branch
from ralph.validation import Json
from ralph.workflows.plan_source import BRANCH_PREFIX, PlanSource, plan_source, prefix_of
from ralph.workspace import RALPH, Feature, Workspace, check_name, feature_in


class LocatedFeature(Frozen):
    """A feature and where its plan's current version is."""

    feature: Feature
    source: PlanSource

    @property
    def folder(self) -> Path | None:
        """A project root on disk that has it; None: only on its branch."""
        return self.source.folder

    @property
    def branch(self) -> Branch | None:
        return self.source.branch

    def read(self, root: Path, path: str) -> bytes | None:
        """One of its files, from the current version."""
        return self.source.read(path)

    @property
    def where(self) -> str:
        return self.source.where


def locate(workspace: Workspace, name: str) -> LocatedFeature:
    """The most recent feature of this name, or an error."""
    check_name(name)
    found = everything(workspace, only=name)
    if not found:
        raise RalphError(f"There is no feature {name!r}.", remedy="See `ralph status`.")
    return found[-1]


def everything(workspace: Workspace, *, only: str = "") -> list[LocatedFeature]:
    """Every feature of the project, or those of one name, oldest first; each from its branch, if it has one."""
    branches = git_read.branches(workspace.root)
    prefix = prefix_of(workspace.root, branches)
    found: dict[str, LocatedFeature] = {}
    for branch in branches.values():
        if branch.name.startswith(BRANCH_PREFIX):
            for feature in _on_branch(workspace, branch, prefix, only):
                source = plan_source(workspace, branch.name, feature.prd_json, branches=branches)
                home = _branch_in(source.read(feature.prd_json)) or f"{BRANCH_PREFIX}{feature.name}"
                if home == branch.name:
                    found.setdefault(feature.folder, LocatedFeature(feature=feature, source=source))
    for feature in workspace.features():
        if feature.folder not in found and only in ("", feature.name):
            own = branches.get(_branch_name(workspace, feature))
            source = PlanSource(root=workspace.root, folder=workspace.root, branch=own)
            found[feature.folder] = LocatedFeature(feature=feature, source=source)
    return [found[folder] for folder in sorted(found)]


def is_outdated(document: Json, prd_md: bytes | None) -> bool:
    """Whether prd.md has changed since prd.json was made from it."""
    made_from = document.get("prdHash")
    return bool(made_from and prd_md is not None and made_from != hashlib.sha256(prd_md).hexdigest())


def _on_branch(workspace: Workspace, branch: Branch, prefix: str, only: str) -> list[Feature]:
    """The features whose files are on a branch, or in an active run on it."""
    kept = workspace.worktrees / branch.name.removeprefix(BRANCH_PREFIX).replace("/", "-") / prefix
    names = {
        *git_read.names_at(workspace.root, branch.name, RALPH),
        *(one.folder for one in Workspace(root=kept).features()),
    }
    features = [feature for name in sorted(names) if (feature := feature_in(name))]
    return [feature for feature in features if only in ("", feature.name)]


def _branch_name(workspace: Workspace, feature: Feature) -> str:
    try:
        data = validation.found(workspace.root / feature.prd_json)
    except RalphError:
        data = None  # reading the plan says why
    return _branch_in(data) or f"{BRANCH_PREFIX}{feature.name}"


def _branch_in(data: bytes | None) -> str:
    try:
        document = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return ""
    name = document.get("branchName") if isinstance(document, dict) else None
    return name if isinstance(name, str) else ""
