"""`ralph clean`: remove what finished work leaves behind, and never what is kept nowhere else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from ralph import values
from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.errors import RalphError
from ralph.git.repo import Repo, open_repo
from ralph.journal.writer import new_run_id
from ralph.loop.cleaning import Leftover, clear_away, everything, leftovers
from ralph.plan.model import TaskState
from ralph.stores import lock
from ralph.workflows.targets import Target, find
from ralph.workflows.targets import everything as all_targets
from ralph.workspace import Workspace


@click.command(
    name="clean",
    epilog="""\b
Examples:
  ralph clean --dry-run        what would go, and what stays and why
  ralph clean auth             logs and landed attempts of one feature
  ralph clean --older 30d      only logs and screenshots, if they are older than that
  ralph clean --all            all of Ralph's files and refs; commits and branches stay
\b
Attempts that never landed stay, for their work is kept nowhere else; --all removes those too.""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--older", metavar="AGE", help="Only logs and screenshots of that age, such as 30d or 12h.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option(
    "--all", "all_", is_flag=True, help="Leave the project as it was before `ralph init`, but for its commits."
)
@click.option("--yes", is_flag=True, help="Do not ask before --all.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(target: str | None, older: str | None, dry_run: bool, all_: bool, yes: bool, as_json: bool) -> int:
    """Remove working copies, logs, screenshots and landed attempts of finished plans."""
    if all_ and (target or older):
        raise RalphError("--all goes with neither a target nor --older.", remedy="Leave them out.")
    workspace = workspaces.find(Path.cwd())
    seconds = _age(older) if older else 0.0
    with lock.hold(workspace.lock, lock.me(new_run_id(), "clean"), brief=True):
        found = asyncio.run(_find(workspace, target or "", seconds, all_=all_))
        if all_ and not dry_run and not yes:
            _show(found, dry_run=True)
            click.confirm("Remove all of this?", abort=True)
        if not dry_run:
            asyncio.run(_clear(workspace, found))
    if as_json:
        click.echo(json.dumps([_row(one, dry_run) for one in found], indent=2))
    else:
        _show(found, dry_run=dry_run)
    return 0


async def _find(workspace: Workspace, only: str, older: float, *, all_: bool) -> list[Leftover]:
    repo = await _repository(workspace)
    if all_:
        return await everything(workspace, repo)
    if only:
        find(workspace, only)
    finished = frozenset(one.name for one in all_targets(workspace) if _is_finished(one))
    return await leftovers(workspace, repo, finished, older=older, only=only)


async def _clear(workspace: Workspace, found: list[Leftover]) -> None:
    await clear_away(await _repository(workspace), found)


async def _repository(workspace: Workspace) -> Repo | None:
    try:
        return await open_repo(workspace.root)
    except RalphError:
        return None


def _is_finished(target: Target) -> bool:
    try:
        plan = target.plan()
    except RalphError:
        return False
    if plan is None or not plan.tasks or plan.count(TaskState.PASSED) < len(plan.tasks):
        return False
    return target.workflow != "feature" or bool(plan.review.verified_at)


def _age(text: str) -> float:
    """Seconds from `30d`, `12h` and the like."""
    days = text.strip().lower()
    try:
        return float(days[:-1]) * 86_400 if days.endswith("d") else float(str(values.seconds(text)))
    except ValueError:
        raise RalphError(f"{text!r} is no age.", remedy="For example: --older 30d, --older 12h") from None


def _row(one: Leftover, dry_run: bool) -> dict[str, object]:
    removed = not one.stays and not dry_run
    return {"kind": one.kind, "name": one.name, "bytes": one.bytes, "stays": one.stays, "removed": removed}


def _show(found: list[Leftover], *, dry_run: bool) -> None:
    going = [one for one in found if not one.stays]
    verb = "would go" if dry_run else "removed"
    for one in going:
        size = f"{one.bytes / 1e6:9.1f} MB" if one.bytes else " " * 12
        click.echo(f"{verb:8}  {one.kind:13} {size}  {one.name}")
    for one in found:
        if one.stays:
            click.secho(f"stays     {one.kind:13} {'':12}  {one.name}: {one.stays}", fg="yellow")
    total = sum(one.bytes for one in going) / 1e6
    click.echo(f"{len(going)} {verb}, {total:.1f} MB." if found else "There is nothing to clean.")
