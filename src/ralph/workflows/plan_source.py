"""Where a plan's current version is: with an active run, on the target's branch, or in the checkout."""

from __future__ import annotations

from pathlib import Path

from ralph import limits, safe_files, validation
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.git.read import Branch
from ralph.workspace import Workspace

BRANCH_PREFIX = "ralph/"
PENDING = "refs/ralph/pending"


class PlanSource(Frozen):
    """A plan's files, from any source. Paths are relative to the project's root."""

    root: Path  # the project, where git commands work
    folder: Path | None  # a project root on disk that has them; None: they are only in a commit
    revision: str = ""  # that commit: the branch, or pending work on top of it
    branch: Branch | None = None  # None: no run has started yet

    def read(self, path: str) -> bytes | None:
        if self.folder is None:
            return git_read.file_at(self.root, self.revision, path)
        return validation.found(self.folder / path)

    def names(self, folder: str) -> list[str]:
        if self.folder is None:
            return git_read.names_at(self.root, self.revision, folder)
        try:
            return sorted(path.name for path in (self.folder / folder).iterdir())
        except OSError:
            return []

    def files_in(self, folder: str) -> dict[str, bytes]:
        """The regular files of a folder, by name."""
        if self.folder is None:
            return git_read.files_in(self.root, self.revision, folder)
        here = self.folder / folder
        if here.is_symlink() or not here.is_dir():
            return {}
        return {
            path.name: safe_files.beginning(path, limits.SESSION_FILE)
            for path in sorted(here.iterdir())
            if _is_regular_file(path)
        }

    @property
    def where(self) -> str:
        return str(self.folder) if self.folder else f"branch {self.branch.name if self.branch else self.revision}"


def _is_regular_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def plan_source(
    workspace: Workspace, branch: str, file: str, *, target: str = "", branches: dict[str, Branch] | None = None
) -> PlanSource:
    """The source of the plan whose main file is `file`, and whose work lands on `branch`."""
    root = workspace.root
    known = git_read.branches(root) if branches is None else branches
    found = known.get(branch)
    prefix = prefix_of(root, known) if found else ""
    if found:
        kept = workspace.worktrees / branch.removeprefix(BRANCH_PREFIX).replace("/", "-") / prefix
        if (kept / file).is_file():
            return PlanSource(root=root, folder=kept, branch=found)
        if found.worktree and (found.worktree / prefix / file).is_file():
            return PlanSource(root=root, folder=found.worktree / prefix, branch=found)
        pending = f"{PENDING}/{target}" if target else ""
        for revision in filter(None, (pending, branch)):
            if git_read.file_at(root, revision, file) is not None:
                return PlanSource(root=root, folder=None, revision=revision, branch=found)
    return PlanSource(root=root, folder=root, branch=found)


def prefix_of(root: Path, branches: dict[str, Branch]) -> str:
    """The path of the project in its work tree: "" at its top."""
    here = root.resolve()
    tops = [branch.worktree for branch in branches.values() if branch.worktree and here.is_relative_to(branch.worktree)]
    top = max(tops, key=lambda path: len(path.parts), default=None) or git_read.top(root) or here
    relative = str(here.relative_to(top))
    return "" if relative == "." else relative
