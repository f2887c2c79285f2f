"""Shell completion of arguments: plans, tasks, attempts and step configurations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.workflows.feature import locate as located
from ralph.workflows.registry import everything, find
from ralph.workflows.session import ids as session_ids
from ralph.workflows.target import Target


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


def tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the tasks of the plan that is named before them."""
    try:
        plan = _named(ctx).plan()
    except RalphError:
        return []
    given = ctx.params.get(param.name or "")
    chosen = given if isinstance(given, tuple) else ()
    return _matching((task.id for task in plan or () if task.id not in chosen), incomplete)


def attempts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Kept attempts at the plan that is named before them, as TASK/N."""
    try:
        target = _named(ctx)
    except RalphError:
        return []
    return _matching((f"{ref.task}/{ref.number}" for ref in git_read.attempts(target.repo, target.name)), incomplete)


def sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of sessions."""
    try:
        found = session_ids.ids(workspaces.find(Path.cwd()))
    except RalphError:
        return []
    return _matching(found, incomplete)


def _named(ctx: click.Context) -> Target:
    """The plan that is named already; click leaves the name in `args` while an option's value is completed."""
    name = ctx.params.get("target") or next(iter(ctx.args), "")
    return find(workspaces.find(Path.cwd()), str(name))


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
