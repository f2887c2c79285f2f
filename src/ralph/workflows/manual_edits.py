"""A person changes a plan: where it lives, under the lock, saved and committed as Ralph does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.checkout.open import CheckoutRequest
from ralph.engine.orphans import verifiers
from ralph.engine.plan_files import plan_files
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.journal.writer import new_run_id
from ralph.plan.model import Plan
from ralph.process.brand import brand_of
from ralph.process.table import lineage, mark_of
from ralph.stores import crash_file, last_run, lock
from ralph.stores.last_run import LastRun
from ralph.stores.lock import Owner
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.registry import find
from ralph.workflows.target import Target
from ralph.workspace import Workspace


def change_plan(name: str, change: Callable[[Plan, str], Plan], *, accepting: bool = False) -> Target:
    """Change a target's plan by `change`, which also gets the commit that its work stands on.

    `accepting`: it stands in for the gates, so that only a person may ask for it.
    """
    workspace = workspaces.find(Path.cwd())
    check_outside(workspace)
    config = configuration.load(workspace.root)
    target = find(workspace, name)
    if target.marked_by and not accepting:
        raise RalphError(f"Only the session's roles can change the tasks of {name}.", remedy=target.marked_by)
    run_id = new_run_id()
    with lock.hold(workspace.lock, lock.me(run_id, name), brief=True) as left_by:
        if accepting:
            _check_ended(workspace, target, left_by)
        branch = target.branch.name if target.branch else ""
        message = config.commits.message.replace("prd.json", Path(target.file).name)
        wanted = CheckoutRequest(target=name, branch=branch, defers_commit=target.defers_commit)
        with plan_files(workspace, config, wanted, run_id, message=message):
            target = find(workspace, name)
            stands_on = git_read.head(target.repo, branch or f"{BRANCH_PREFIX}{name}") or git_read.head(
                target.repo, "HEAD"
            )
            store = target.store()
            before = store.load()
            after = change(before, stands_on)
            store.save(after)
        _note_decided(workspace, name, before, after)
    return find(workspace, name)


def need_a_person(*, yes: bool) -> None:
    """What a person decides comes from a terminal, or says that a person means it."""
    if not yes and not sys.stdin.isatty():
        raise RalphError(
            "Only a person can do this, and there is no terminal here.",
            remedy="Type the command in a terminal. In your own scripts, add --yes.",
        )


def persons_name(folder: Path) -> str:
    """The person's name, as git knows it there; empty if it knows none."""
    return git_read.show(folder, "config", "user.name").strip()


def check_outside(workspace: Workspace) -> None:
    """Processes of agents and gates carry Ralph's mark or brand, descend from one that does, or were adopted by it."""
    above = lineage()
    if any(map(mark_of, above)) or brand_of(os.getpid()) or not verifiers(workspace.records).isdisjoint(above):
        raise RalphError(
            "Only a person can do this, but a run called it.",
            remedy="Run the command yourself when the run has ended.",
        )


def _check_ended(workspace: Workspace, target: Target, left_by: Owner | None) -> None:
    """An agent that killed Ralph may have outlived it, with no mark left on it."""
    last = last_run.load(workspace, target.name)
    if left_by or crash_file.tip_of(workspace, target.name) or (last and not last.is_over):
        raise RalphError(
            "The last run was killed, and its agent may still be running.",
            remedy=f"Run `{target.command}` first to clean up (Ctrl-C stops it). Then accept the task.",
        )


def _note_decided(workspace: Workspace, name: str, before: Plan, after: Plan) -> None:
    """What a person decided to have passed is known, as what Ralph saw pass."""
    decided = last_run.moments(task for task in after if task != before.find(task.id))
    if decided:
        last = last_run.load(workspace, name) or LastRun(is_over=True, passed={})
        last_run.save(workspace, name, replace(last, passed={**last.passed, **decided}))
