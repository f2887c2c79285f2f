"""A person changes a plan: where it lives, under the lock, saved and committed as Ralph does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.engine.plan_files import plan_files
from ralph.engine.recovery import verifiers
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.journal.writer import new_run_id
from ralph.plan.model import Plan
from ralph.process.table import lineage, mark_of
from ralph.stores import crash_file, lock
from ralph.stores.lock import Owner
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.registry import find
from ralph.workflows.target import Target
from ralph.workspace import Workspace


def change_plan(name: str, change: Callable[[Plan, str], Plan], *, vouching: bool = False) -> Target:
    """Change a target's plan by `change`, which also gets the commit that its work stands on.

    `vouching`: it stands in for the gates, so that nobody but a person may have asked for it.
    """
    workspace = workspaces.find(Path.cwd())
    _check_outside(workspace)
    config = configuration.load(workspace.root)
    target = find(workspace, name)
    if target.marked_by and not vouching:
        raise RalphError(f"Only its roles can mark the tasks of {name}.", remedy=target.marked_by)
    run_id = new_run_id()
    with lock.hold(workspace.lock, lock.me(run_id, name), brief=True) as left_by:
        if vouching:
            _check_ended(workspace, target, left_by)
        branch = target.branch.name if target.branch else ""
        message = config.commits.message.replace("prd.json", Path(target.file).name)
        with plan_files(workspace, config, name, branch, run_id, message=message):
            target = find(workspace, name)
            stands_on = git_read.head(target.repo, branch or f"{BRANCH_PREFIX}{name}") or git_read.head(
                target.repo, "HEAD"
            )
            store = target.store()
            store.save(change(store.load(), stands_on))
    return find(workspace, name)


def need_a_person(*, yes: bool) -> None:
    """What a person decides comes from a terminal, or says that a person means it."""
    if not yes and not sys.stdin.isatty():
        raise RalphError(
            "Only a person can do this, and there is no terminal here.",
            remedy="Type the command in a terminal. In a script of your own, add --yes.",
        )


def persons_name(folder: Path) -> str:
    """The person's name, as git knows it there; empty if it knows none."""
    return git_read.show(folder, "config", "user.name").strip()


def _check_outside(workspace: Workspace) -> None:
    """What an agent or a gate started carries Ralph's mark, or stems from somebody who does, or was adopted by us."""
    above = lineage()
    if any(map(mark_of, above)) or not verifiers(workspace.records).isdisjoint(above):
        raise RalphError(
            "Only a person can do this: it was called from inside of a run.",
            remedy="Type the command yourself when the run has ended.",
        )


def _check_ended(workspace: Workspace, target: Target, left_by: Owner | None) -> None:
    """An agent that killed Ralph may have outlived it, with no mark left on it."""
    if left_by or crash_file.tip_of(workspace, target.name):
        raise RalphError(
            "The last run here was killed, and what its agent did since cannot be told from what you do.",
            remedy=f"First let Ralph clean up: `{target.command}`, or stop it again with Ctrl-C. Then accept.",
        )
