"""Shell completion of arguments: the plans and the step configurations of this project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.workflows.feature import locate as located
from ralph.workflows.registry import everything


def features(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of features, for commands that work only on features."""
    try:
        found = located.everything(workspaces.find(Path.cwd()))
    except RalphError:
        return []
    return _matching((item.feature.name for item in found), incomplete)


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of all plans of all workflows."""
    try:
        found = everything(workspaces.find(Path.cwd()))
    except RalphError:
        return []
    return _matching((target.name for target in found), incomplete)


def configs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of step configurations."""
    try:
        folder = workspaces.find(Path.cwd()).ralph / "configs"
    except RalphError:
        return []
    return _matching((path.stem for path in sorted(folder.glob("*.json"))), incomplete)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def commands(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of Ralph's own commands."""
    from ralph.cli.app import COMMANDS

    return [name for name in COMMANDS if name.startswith(incomplete)]
