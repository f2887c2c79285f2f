"""`ralph worktrees`: shows the size of Ralph's working copies, and why each can or cannot be removed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.checkout.worktrees import Judge, Worktree, in_words, remove
from ralph.cli.repositories import repositories
from ralph.journal.writer import new_run_id
from ralph.stores import lock
from ralph.views.lines import say, say_json, styled
from ralph.workspace import Workspace

KEPT = "files with no other copy are in"


@click.command(
    name="worktrees",
    epilog="""\b
Examples:
  ralph worktrees            their size on disk, and whether each can be removed
  ralph worktrees --prune    remove those that hold nothing unsaved

\b
A run recreates what it needs. If a slot has files with no other copy, --prune saves them under
refs/ralph/strays before it removes the slot. Files that git ignores are not saved.""",
)
@click.option("--prune", is_flag=True, help="Remove those that hold nothing unsaved; show what stays, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(prune: bool, as_json: bool) -> int:
    """List the working copies that runs made under .ralph/worktrees/."""
    workspace = workspaces.find(Path.cwd())
    rows = _pruned(workspace) if prune else asyncio.run(_rows(workspace))
    if as_json:
        say_json(rows)
    elif not rows:
        say("There are no working copies.")
    else:
        for row in rows:
            _print(row)
        say(f"{in_words(sum(int(str(row['bytes'])) for row in rows if not row['removed']))} in all")
    return 0


async def _rows(workspace: Workspace) -> list[dict[str, object]]:
    judge = Judge(workspace, await repositories(workspace), lambda: lock.holder(workspace.lock))
    return [_row(one) for one in await judge.all()]


def _pruned(workspace: Workspace) -> list[dict[str, object]]:
    with lock.hold(workspace.lock, lock.me(new_run_id(), "worktrees"), brief=True):
        return asyncio.run(_prune(workspace))


async def _prune(workspace: Workspace) -> list[dict[str, object]]:
    judge = Judge(workspace, await repositories(workspace))
    rows = []
    for one in await judge.all():
        row, removable = _row(one), not one.stays or bool(one.holds)
        kept = await remove(one, judge.repo_of(one)) if removable else ""
        rows.append({**row, "removed": removable, "keptIn": kept})
    return rows


def _row(one: Worktree) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "target": one.target,
        "path": str(one.folder),
        "bytes": one.size,
        "lastUsed": datetime.fromtimestamp(one.used, UTC).isoformat(timespec="seconds"),
        "stays": one.stays,
        "holds": list(one.holds),
        "why": one.why,
        "removed": False,
        "keptIn": "",
    }


def _print(row: dict[str, object]) -> None:
    target = f" of {row['target']}" if row["target"] and row["target"] != row["name"] else ""
    name = f"{row['name']}{target}"
    if row["removed"]:
        how = f"; {KEPT} {row['keptIn']}" if row["keptIn"] else f": {row['why']}"
        text = (styled("removed", fg="green"), how)
    elif row["stays"]:
        text = (styled(f"stays: {row['stays']}", fg="yellow"), "")
    else:
        text = (styled("can be removed"), f": {row['why']}")
    say(f"{name:28} {in_words(int(str(row['bytes']))):>12}  ", *text, hang=43)
