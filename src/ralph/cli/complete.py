"""What a shell completes beside command names: the features of this project."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.workflows.features import everything


def features(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    try:
        found = everything(workspaces.find(Path.cwd()))
    except RalphError:
        return []
    return [name for name in dict.fromkeys(f.feature.name for f in found) if name.startswith(incomplete)]
