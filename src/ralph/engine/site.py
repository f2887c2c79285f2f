"""Where an attempt is made: a working copy, with the variables that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ralph.checkout.working_copy import WorkingCopy
from ralph.git.repo import Repo


@dataclass(frozen=True, kw_only=True)
class Site:
    """One of these for each slot, and one for each reviewer."""

    folder: Path  # the project's root, where the person is
    copy: WorkingCopy | None = None  # None: nothing is built here
    scratch: Path | None = None  # where an agent is called that builds nothing
    variables: dict[str, str] = field(default_factory=dict)  # for agents
    slot: int = 0
    repo: Repo | None = None  # the person's repository, where nothing is built

    @property
    def cwd(self) -> Path:
        return self.copy.root if self.copy else self.scratch or self.folder

    @property
    def project(self) -> Path:
        """Where Ralph's own files are, as whoever works here sees them."""
        if self.copy is None:
            return self.cwd
        return self.copy.project if self.copy.own.held else self.folder
