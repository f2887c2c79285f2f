"""`ralph diff`: shows what landed, for a whole plan or one task."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli import patch
from ralph.cli.complete import targets
from ralph.cli.complete import tasks as task_ids
from ralph.errors import RalphError
from ralph.git import read as git
from ralph.git.read import one_moment
from ralph.plan.select import find_task
from ralph.report.collect import collect
from ralph.views.lines import say
from ralph.workflows.registry import find
from ralph.workspace import RALPH


@click.command(
    name="diff",
    epilog="""\b
Examples:
  ralph diff auth                  what the branch has changed so far
  ralph diff auth US-003           what one task changed
  ralph diff auth --stat           the files, and how much of each
  ralph diff auth | git apply -R   take it out of this checkout""",
)
@click.argument("target", shell_complete=targets)
@click.argument("task", required=False, shell_complete=task_ids)
@click.option("--stat", is_flag=True, help="Show the files and the number of changed lines.")
@click.option("--name-only", is_flag=True, help="Show the names of the files.")
@one_moment()
def command(target: str, task: str | None, stat: bool, name_only: bool) -> int:
    """Show what landed on the branch of TARGET, or what TASK changed.

    Ralph's own files are left out. `ralph attempts TARGET US-001/2 --diff` shows an attempt that did not land.
    """
    workspace = workspaces.find(Path.cwd())
    found = find(workspace, target)
    plan = found.needed_plan()
    wanted = find_task(plan, task).id if task else ""
    report = collect(workspace, found, plan, only=wanted, tests=False)
    change = report.tasks[0].change if wanted else report.change
    if change is None:
        raise _nothing(target, wanted)
    form = ("--stat",) if stat else ("--name-only",) if name_only else ()
    own = git.outside((RALPH, *workspace.own_files))
    text = git.show(found.repo, "diff", "--relative", *form, change.base, change.commit, "--", *own)
    if stat or name_only:
        say(text.rstrip("\n"), hang=0)
    else:
        patch.show(text)
    return 0


def _nothing(target: str, task: str) -> RalphError:
    if task:
        return RalphError(
            f"Nothing of {task} has landed yet.", remedy=f"`ralph attempts {target} {task}` lists its attempts."
        )
    return RalphError(f"Nothing of {target} has landed yet.", remedy=f"`ralph status {target}` shows how far it is.")
