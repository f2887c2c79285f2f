"""`ralph worktrees`: how large Ralph's working copies are, and which of them can go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.git.repo import Repo, open_repo
from ralph.journal.writer import new_run_id
from ralph.loop.worktrees import Worktree, forget_removed, remove, worktrees
from ralph.stores import lock
from ralph.workspace import Workspace


@click.command(
    name="worktrees",
    epilog="""\b
Examples:
  ralph worktrees            what each takes on disk, and whether it can go
  ralph worktrees --prune    remove those of which nothing would be lost
\b
A run makes again what it needs.""",
)
@click.option("--prune", is_flag=True, help="Remove those whose work is kept elsewhere; say what stays, and why.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(prune: bool, as_json: bool) -> int:
    """List the working copies that runs made under .ralph/worktrees/."""
    workspace = workspaces.find(Path.cwd())
    rows = _pruned(workspace) if prune else [_row(worktree) for worktree in worktrees(workspace)]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("There are no working copies of Ralph's here.")
    else:
        for row in rows:
            _print(row)
    return 0


def _pruned(workspace: Workspace) -> list[dict[str, object]]:
    with lock.hold(workspace.lock, lock.me(new_run_id(), "worktrees"), brief=True):
        return asyncio.run(_prune(workspace))


async def _prune(workspace: Workspace) -> list[dict[str, object]]:
    repo = await _repository(workspace)
    rows = []
    for worktree in list(worktrees(workspace)):
        kept = "" if worktree.stays else await remove(worktree, repo)
        rows.append({**_row(worktree), "removed": not worktree.stays, "keptIn": kept})
    if repo:
        await forget_removed(repo)
    return rows


async def _repository(workspace: Workspace) -> Repo | None:
    try:
        return await open_repo(workspace.root)
    except RalphError:
        return None  # the application may be a repository of its own below it


def _row(worktree: Worktree) -> dict[str, object]:
    return {
        "name": worktree.name,
        "path": str(worktree.folder),
        "bytes": worktree.size,
        "stays": worktree.stays,
        "removed": False,
        "keptIn": "",
    }


def _print(row: dict[str, object]) -> None:
    size = f"{int(str(row['bytes'])) / 1e6:.1f} MB"
    click.echo(f"{row['name']!s:20} {size:>12}  ", nl=False)
    if row["removed"]:
        click.secho("removed", fg="green", nl=False)
        click.echo(f"; files that were kept nowhere else are in {row['keptIn']}" if row["keptIn"] else "")
    elif row["stays"]:
        click.secho(f"stays: {row['stays']}", fg="yellow")
    else:
        click.echo("can go: everything in it is kept elsewhere, or can be made again")
