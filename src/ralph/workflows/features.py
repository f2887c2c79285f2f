"""Finding a feature: on disk, and on its branch, whatever is checked out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ralph.errors import RalphError
from ralph.git import look
from ralph.git.look import Branch
from ralph.validation import Json, nearest
from ralph.workspace import RALPH, Feature, Workspace, check_name, feature_in

BRANCH_PREFIX = "ralph/"


@dataclass(frozen=True, kw_only=True)
class Located:
    """A feature and where its plan's truth lies."""

    feature: Feature
    folder: Path | None  # a project root on disk that has it; None: only on its branch
    branch: Branch | None

    def read(self, root: Path, path: str) -> bytes | None:
        """One of its files, from wherever the truth is."""
        if self.folder is not None:
            try:
                return (self.folder / path).read_bytes()
            except OSError:
                return None
        assert self.branch is not None, "it is somewhere"
        return look.file_at(root, self.branch.name, path)

    @property
    def where(self) -> str:
        return str(self.folder) if self.folder else f"branch {self.branch.name if self.branch else '?'}"


def locate(workspace: Workspace, name: str) -> Located:
    """The most recent feature of this name, or an error that lists what there is."""
    check_name(name)
    found = everything(workspace, only=name)
    if not found:
        raise _unknown(workspace, name)
    return found[-1]


def everything(workspace: Workspace, *, only: str = "") -> list[Located]:
    """Every feature of the project, or those of one name, oldest first; each as its branch has it, if it has one."""
    branches = look.branches(workspace.root)
    prefix = prefix_of(workspace.root, branches)
    found: dict[str, Located] = {}
    for branch in branches.values():
        if branch.name.startswith(BRANCH_PREFIX):
            for feature in _on_branch(workspace, branch, prefix, only):
                found.setdefault(feature.folder, _at(feature, branch, prefix))
    for feature in workspace.features():
        if feature.folder not in found and only in ("", feature.name):
            own = branches.get(_branch_name(workspace, feature))
            found[feature.folder] = Located(feature=feature, folder=workspace.root, branch=own)
    return [found[folder] for folder in sorted(found)]


def is_outdated(document: Json, prd_md: bytes | None) -> bool:
    """Whether prd.md has changed since prd.json was made from it."""
    made_from = document.get("prdHash")
    return bool(made_from and prd_md is not None and made_from != hashlib.sha256(prd_md).hexdigest())


def _on_branch(workspace: Workspace, branch: Branch, prefix: str, only: str) -> list[Feature]:
    """The features whose home is this branch: named so by their plan, or by the branch's own name."""
    if branch.worktree:
        names = [feature.folder for feature in Workspace(root=branch.worktree / prefix).features()]
    else:
        names = look.names_at(workspace.root, branch.name, RALPH)
    features = [feature for name in names if (feature := feature_in(name))]
    wanted = [feature for feature in features if only in ("", feature.name)]
    return [feature for feature in wanted if _home(workspace, branch, prefix, feature) == branch.name]


def _home(workspace: Workspace, branch: Branch, prefix: str, feature: Feature) -> str:
    data = _at(feature, branch, prefix).read(workspace.root, feature.prd_json)
    return _branch_in(data) or f"{BRANCH_PREFIX}{feature.name}"


def _at(feature: Feature, branch: Branch, prefix: str) -> Located:
    folder = branch.worktree / prefix if branch.worktree else None
    return Located(feature=feature, folder=folder, branch=branch)


def _branch_name(workspace: Workspace, feature: Feature) -> str:
    try:
        data = (workspace.root / feature.prd_json).read_bytes()
    except OSError:
        data = None
    return _branch_in(data) or f"{BRANCH_PREFIX}{feature.name}"


def _branch_in(data: bytes | None) -> str:
    try:
        document = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return ""
    name = document.get("branchName") if isinstance(document, dict) else None
    return name if isinstance(name, str) else ""


def prefix_of(root: Path, branches: dict[str, Branch]) -> str:
    """Where the project lies in its work tree: "" at its top."""
    here = root.resolve()
    tops = [branch.worktree for branch in branches.values() if branch.worktree and here.is_relative_to(branch.worktree)]
    top = max(tops, key=lambda path: len(path.parts), default=None) or look.top(root) or here
    relative = str(here.relative_to(top))
    return "" if relative == "." else relative


def _unknown(workspace: Workspace, name: str) -> RalphError:
    names = [located.feature.name for located in everything(workspace)]
    known = tuple(f"  {known}" for known in dict.fromkeys(names))
    return RalphError(
        f"There is no feature {name!r} here{nearest(name, names)}",
        details=("These exist:", *known) if known else ("There are no features yet.",),
        remedy=f"Make it with `ralph prd {name}`.",
    )
