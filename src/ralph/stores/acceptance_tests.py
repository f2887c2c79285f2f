"""Keeps acceptance tests outside of the repository, where no agent works: one file for each task.

Git objects would not do for those that are held out: the repositories of agents borrow all objects of the person's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.plan.acceptance_tests import AcceptanceTests
from ralph.stores import atomic
from ralph.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SUFFIX = ".tests.json"
MAX_KEPT = 64_000_000


@cache
def _adapter() -> TypeAdapter[AcceptanceTests]:
    """Created on first use, because it takes some milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(AcceptanceTests)


class AcceptanceStore(Frozen):
    """The acceptance tests of one plan. Each is written atomically, so a kill leaves the old or the new version."""

    state: Path
    target: str

    @classmethod
    def of(cls, workspace: Workspace, target: str) -> AcceptanceStore:
        return cls(state=workspace.held_out, target=target)

    @property
    def folder(self) -> Path:
        return self.state / "acceptance" / self.target

    def load(self, task: str) -> AcceptanceTests | None:
        data = safe_files.read(self._path(task), MAX_KEPT)
        try:
            return _adapter().validate_json(data) if data else None
        except ValueError:  # pydantic's own error is one
            return None

    def save(self, tests: AcceptanceTests) -> AcceptanceTests:
        safe_files.make_folder(self.state)
        self.state.chmod(0o700)
        atomic.write(self._path(tests.task), _adapter().dump_json(tests))
        return tests

    def _path(self, task: str) -> Path:
        return self.folder / f"{task}{SUFFIX}"
