"""`ralph worktrees`: what is in Ralph's worktrees, and which of them can go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.journal.writer import new_run_id
from ralph.loop.worktrees import Worktree, opened, remove, worktrees
from ralph.stores import lock
from ralph.workspace import Workspace


@click.command(
    name="worktrees",
    epilog="""\b
Examples:
  ralph worktrees            what is in each, and whether all of it is kept
  ralph worktrees --prune    remove those of which nothing would be lost
\b
A run makes again what it needs. Work that is not committed is kept under refs/ralph/strays first.""",
)
@click.option("--prune", is_flag=True, help="Remove those whose work is kept elsewhere; say what stays, and why.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(prune: bool, as_json: bool) -> int:
    """List the worktrees that `ralph run --jobs` and `--worktree` made under .ralph/worktrees/."""
    workspace = workspaces.find(Path.cwd())
    rows = _pruned(workspace) if prune else asyncio.run(_list(workspace))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("There are no worktrees of Ralph's here.")
    else:
        for row in rows:
            _print(row)
    return 0


def _pruned(workspace: Workspace) -> list[dict[str, object]]:
    with lock.hold(workspace.lock, lock.me(new_run_id(), "worktrees"), brief=True):
        return asyncio.run(_prune(workspace))


async def _list(workspace: Workspace) -> list[dict[str, object]]:
    await opened(workspace)
    return [_row(worktree) async for worktree in worktrees(workspace)]


async def _prune(workspace: Workspace) -> list[dict[str, object]]:
    outside = await opened(workspace)
    rows = []
    for worktree in [found async for found in worktrees(workspace)]:
        row = _row(worktree)
        if not worktree.stays:
            try:
                row["keptIn"] = await remove(worktree, outside)
                row["removed"] = True
            except RalphError as error:  # it is locked, or has submodules: git knows why
                row["stays"] = error.what
        rows.append(row)
    return rows


def _row(worktree: Worktree) -> dict[str, object]:
    return {
        "name": worktree.name,
        "path": str(worktree.folder),
        "branch": worktree.status.branch,
        "commit": worktree.status.head,
        "uncommitted": list(worktree.uncommitted),
        "reachable": worktree.reachable,
        "stays": worktree.stays,
        "removed": False,
        "keptIn": "",
    }


def _print(row: dict[str, object]) -> None:
    commit, uncommitted = str(row["commit"])[:10], row["uncommitted"]
    assert isinstance(uncommitted, list)
    files = f"{len(uncommitted)} uncommitted file{'s' if len(uncommitted) != 1 else ''}" if uncommitted else "clean"
    click.echo(f"{row['name']!s:14} {row['branch'] or commit!s:24} ", nl=False)
    if row["removed"]:
        click.secho("removed", fg="green", nl=False)
        click.echo(f"; {files}, kept in {row['keptIn']}" if row["keptIn"] else "")
    elif row["stays"]:
        click.secho(f"{files}; stays: {row['stays']}", fg="yellow")
    else:
        click.echo(f"{files}; all that is committed is kept elsewhere")
