"""`ralph clean`: removes what finished work leaves behind, but never what is kept nowhere else."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.checkout.prune import Leftover, PruneRequest, clear_away, everything, leftovers, remove_empty
from ralph.cli import moments
from ralph.cli.complete import targets
from ralph.cli.repositories import repositories
from ralph.errors import RalphError
from ralph.git.repo import Repo
from ralph.journal.writer import new_run_id
from ralph.stores import lock
from ralph.views.lines import say, say_json
from ralph.workflows.registry import find
from ralph.workflows.registry import unfinished as unfinished_targets
from ralph.workspace import Workspace


@click.command(
    name="clean",
    epilog="""\b
Examples:
  ralph clean --dry-run        what would be removed, and what stays and why
  ralph clean auth             only what one plan left
  ralph clean --older 30d      only what is older than that
  ralph clean --all            all of Ralph's files and refs; commits and branches stay

\b
Ralph keeps what has no other copy: attempts that never landed, files left in a working copy, plans that
are in no commit. A branch that you squash-merged or rebased counts as a copy.""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--older", metavar="AGE", help="Only remove what is at least this old, such as 30d or 12h.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--all", "all_", is_flag=True, help="Remove all of Ralph's files and refs. Commits and branches stay.")
@click.option("--force", is_flag=True, help="With --all: also remove what has no other copy.")
@click.option("--yes", is_flag=True, help="Do not ask before --all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    target: str | None, older: str | None, dry_run: bool, all_: bool, force: bool, yes: bool, as_json: bool
) -> int:
    """Remove working copies, logs, screenshots and landed attempts of finished plans."""
    if all_ and (target or older):
        raise RalphError("--all cannot be combined with a target or --older.", remedy="Leave them out.")
    if force and not all_:
        raise RalphError("--force needs --all.", remedy="Without --all, Ralph keeps what has no other copy.")
    workspace = workspaces.find(Path.cwd())
    seconds = moments.age(older, "--older") if older else 0.0
    repos = asyncio.run(repositories(workspace))
    try:
        with lock.hold(workspace.lock, lock.me(new_run_id(), "clean"), brief=True):
            found = asyncio.run(_find(workspace, repos, target or "", seconds, all_=all_, force=force))
            if all_ and not dry_run and not yes and any(not one.stays for one in found):
                _show(found, dry_run=True, err=as_json)
                _ask(err=as_json)
            if not dry_run:
                asyncio.run(clear_away(found))
    finally:
        remove_empty(workspace, repos)
    if as_json:
        say_json([_row(one, dry_run) for one in found])
    else:
        _show(found, dry_run=dry_run)
        if all_ and any(one.stays for one in found):
            say("→ `ralph clean --all --force` also removes what stays.")
    return 0


def _ask(*, err: bool) -> None:
    """Continue only if a person confirms, in a terminal or through a pipe."""
    try:
        agreed = click.confirm("Remove all of this?", err=err)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        say(err=err)
        raise RalphError(
            "Nothing was removed: --all needs your confirmation, and there is no terminal.",
            remedy="Pass --yes to confirm, or --dry-run to only show what would be removed.",
        ) from None
    if not agreed:
        raise RalphError("Nothing was removed.", remedy="Pass --yes to skip the question.")


async def _find(
    workspace: Workspace, repos: list[Repo], only: str, older: float, *, all_: bool, force: bool
) -> list[Leftover]:
    if all_:
        return await everything(workspace, repos, force=force)
    unfinished = frozenset(one.name for one in unfinished_targets(workspace))
    found = await leftovers(workspace, repos, PruneRequest(unfinished=unfinished, older=older, only=only))
    if only and not found:
        find(workspace, only)  # an unknown name is an error, unless a removed plan left files
    return found


def _row(one: Leftover, dry_run: bool) -> dict[str, object]:
    removed = not one.stays and not dry_run
    return {"kind": one.kind, "name": one.name, "bytes": one.bytes, "stays": one.stays, "removed": removed}


def _show(found: list[Leftover], *, dry_run: bool, err: bool = False) -> None:
    going = [one for one in found if not one.stays]
    verb, summary = ("remove", "would be removed") if dry_run else ("removed", "removed")
    for one in going:
        size = f"{one.bytes / 1e6:9.1f} MB" if one.bytes else " " * 12
        say(f"{verb:8}  {one.kind:13} {size}  {one.name}", err=err)
    for one in found:
        if one.stays:
            say(f"stays     {one.kind:13} {'':12}  {one.name}: {one.stays}", fg="yellow", err=err, hang=38)
    total = sum(one.bytes for one in going) / 1e6
    say(f"{len(going)} {summary}, {total:.1f} MB." if found else "Nothing to clean.", err=err)
