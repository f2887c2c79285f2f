"""Where an attempt is made: a checkout, with the services and variables that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ralph.loop.place import Place
from ralph.verify.services import Services


@dataclass(frozen=True, kw_only=True)
class Site:
    """One of these for the run itself, and one for each slot where tasks are done side by side."""

    folder: Path  # the project's root
    services: Services
    place: Place | None = None  # None: nothing is built here
    variables: dict[str, str] = field(default_factory=dict)  # for agents and gates
    slot: int = 0  # 0: the run's own

    @property
    def cwd(self) -> Path:
        return self.place.root if self.place else self.folder
