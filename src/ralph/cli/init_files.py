"""What `ralph init` writes: the configuration, its schema and `.ralph/.gitignore`. It overwrites no file."""

from __future__ import annotations

import json
from dataclasses import field

from ralph import config as configuration
from ralph.agent.dialects import KnownAgent
from ralph.cli.trusting import approve_new
from ralph.detect.found import FoundService
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.workspace import Workspace

SCHEMA = ".ralph/config.schema.json"


class FirstSettings(Frozen):
    """What a new configuration says."""

    agent: KnownAgent
    gates: tuple[str, ...] = ()
    services: tuple[FoundService, ...] = field(default=())
    protect: tuple[str, ...] = ()
    parallel: bool | None = None
    follow: bool = False  # the person's branch follows Ralph's
    is_found: bool = False  # Ralph found what is in it: only what differs from the defaults is written

    def text(self) -> str:
        """Return the file."""
        content = self._found() if self.is_found else self._frame()
        return json.dumps(content, indent=2) + "\n"

    def _found(self) -> dict[str, object]:
        verify: dict[str, object] = {"default": list(self.gates)}
        if self.parallel is not None:
            verify["parallel"] = self.parallel
        content: dict[str, object] = {"$schema": f"./{SCHEMA}", "provider": self._provider, **self._roles}
        content["verify"] = verify
        if self.services:
            content["services"] = [{"name": one.name, "start": one.start, "ready": one.ready} for one in self.services]
        if self.protect:
            content["protect"] = list(self.protect)
        return content

    def _frame(self) -> dict[str, object]:
        """Return what most projects set, also where it is the default: a person who names gates goes on from there."""
        together = {} if self.parallel is None else {"parallel": self.parallel}
        return {
            "$schema": f"./{SCHEMA}",
            "maxRetries": 3,
            "provider": {**self._provider, "timeout": 1800},
            "services": [],
            "verify": {"default": list(self.gates), "ui": [], **together},
            "protect": list(self.protect),
            **self._roles,
            "commits": {
                **({"branch": "current"} if self.follow else {}),
                "prdChanges": True,
                "message": "chore: update prd.json",
            },
        }

    @property
    def _provider(self) -> dict[str, object]:
        return {"command": self.agent.command, "args": list(self.agent.args)}

    @property
    def _roles(self) -> dict[str, object]:
        models = self.agent.models
        return {"roles": {role: {"model": model} for role, model in models.items()}} if models else {}


def write(workspace: Workspace, settings: FirstSettings) -> list[str]:
    """Make what is missing; returns the names of the new files."""
    made = []
    try:
        config = workspace.root / configuration.NAME
        if not config.exists():
            config.write_text(settings.text(), encoding="utf-8")
            made.append(configuration.NAME)
        if workspace.keep_out_of_git(shared=True):
            made.append(".ralph/.gitignore")
        schema = workspace.root / SCHEMA
        if not schema.exists():
            schema.write_text(configuration.schema_text(), encoding="utf-8")
            made.append(SCHEMA)
    except OSError as error:
        raise RalphError(f"{error.filename} could not be written: {error.strerror}.") from None
    if configuration.NAME in made:
        approve_new(workspace)
    return made
