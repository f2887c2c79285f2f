"""`ralph trust`: approves what a project's configuration starts, shows what is approved, or takes it back."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.trusting import approve, differences, listed
from ralph.errors import EXIT_UNFINISHED, RalphError
from ralph.trust import programs
from ralph.trust.approval import ApprovalStore
from ralph.views.lines import say
from ralph.workflows.manual_edits import check_outside, need_a_person
from ralph.workspace import Workspace


@click.command(
    name="trust",
    epilog="""\b
Examples:
  ralph trust            show what this project starts, and approve it
  ralph trust --show     whether it is approved, and what has changed since
  ralph trust --revoke   ask again at the next run""",
)
@click.option("--show", is_flag=True, help="Show whether it is approved; exit with 3 if it is not.")
@click.option("--revoke", is_flag=True, help="Take the approval back.")
@click.option("--yes", is_flag=True, help="Approve without a question, for your own scripts.")
def command(show: bool, revoke: bool, yes: bool) -> int:
    """Approve what the configuration of this project starts on your machine: agents, gates, services, set-up
    commands. Ralph starts nothing of a project that you have not approved."""
    if show + revoke + yes > 1:
        raise RalphError("--show, --revoke and --yes cannot be combined.", remedy="Choose one of them.")
    workspace = workspaces.find(Path.cwd())
    if show:
        return _show(workspace)
    check_outside(workspace)
    if revoke:
        was_there = ApprovalStore.of(workspace).revoke()
        say("Ralph asks again before it starts anything here." if was_there else "Nothing was approved here.")
        return 0
    need_a_person(yes=yes)
    config = configuration.load(workspace.root)
    say(f"{configuration.NAME} starts, as you:")
    for line in listed(programs.programs(workspace.root, config)):
        say(f"  {line}")
    if not (yes or click.confirm("Do you approve it?")):
        say("Nothing was approved.")
        return EXIT_UNFINISHED
    approve(workspace, config)
    say("Approved. Ralph asks again when it changes, unless you edit it yourself.")
    return 0


def _show(workspace: Workspace) -> int:
    named = programs.programs(workspace.root, configuration.load(workspace.root))
    store, files = ApprovalStore.of(workspace), programs.files(workspace.root, named)
    for line in listed(named):
        say(f"  {line}")
    approval = store.load()
    changes = differences(approval, files) if approval else []
    for line in changes:
        say(f"  {line}")
    if approval is None:
        say("Not approved.")
    else:
        say(f"Approved at {approval.at}{', and changed since' if changes else ''}. It is kept in {store.path}.")
    return EXIT_UNFINISHED if approval is None or changes else 0
