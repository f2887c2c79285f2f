"""`ralph accept`: a person accepts a task that needs no work."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.cli.complete import targets, tasks
from ralph.engine.settle import accept_manually, reopen_review
from ralph.errors import RalphError
from ralph.journal.writer import now
from ralph.plan.model import Plan, TaskState
from ralph.views import words
from ralph.views.lines import say
from ralph.workflows.manual_edits import change_plan, need_a_person, persons_name
from ralph.workflows.plan_rules import MAX_WHY
from ralph.workflows.registry import find_task


@click.command(name="accept", epilog="Example: ralph accept auth US-003 --why 'US-001 does this already'")
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--why", required=True, help="Why the task needs no work. Ralph keeps the reason with the task.")
@click.option("--yes", is_flag=True, help="Confirm without a terminal, for your own scripts.")
def command(target: str, task: str, why: str, yes: bool) -> int:
    """Mark TASK of TARGET (a feature, a session, `request`, `requirements`, `specs`) as accepted by you.
    Only a person can accept a task. An agent, a gate, or anything else that a run started cannot."""
    need_a_person(yes=yes)
    by = persons_name(Path.cwd())
    reason = words.cut(why, MAX_WHY)
    if not reason:
        raise RalphError("--why needs a reason.", remedy="Say why the task needs no work.")

    def accept(plan: Plan, commit: str) -> Plan:
        found = find_task(plan, task)
        if found.state is TaskState.PASSED and found not in plan.unverified:
            said = words.accepted(found.acceptance) if found.acceptance else "passed"
            raise RalphError(f"Nothing to accept: {task} is already {said}.")
        return reopen_review(accept_manually(plan, found.id, reason, now(), commit, by))

    found = change_plan(target, accept, accepting=True)
    who = f" by {by}" if by else ""
    say(f"{task} is accepted{who}, not verified. Run `{found.command}` to continue with the rest.")
    return 0
