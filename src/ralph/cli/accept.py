"""`ralph accept`: a person accepts a task that needs no work."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.cli.steering import instruct, json_option
from ralph.errors import RalphError
from ralph.plan.instruction import Command
from ralph.views import words
from ralph.workflows.manual_edits import need_a_person
from ralph.workflows.plan_rules import MAX_WHY


@click.command(name="accept", epilog="Example: ralph accept auth US-003 --why 'US-001 does this already'")
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--why", required=True, help="Why the task needs no work. Ralph keeps the reason with the task.")
@click.option("--yes", is_flag=True, help="Confirm without a terminal, for your own scripts.")
@json_option
def command(target: str, task: str, why: str, yes: bool, as_json: bool) -> int:
    """Mark TASK of TARGET (a feature, a session, `request`, `requirements`, `specs`) as accepted by you, also while a
    run is under way. Only a person can accept a task. An agent, a gate, or anything else that a run started cannot."""
    need_a_person(yes=yes)
    reason = words.cut(why, MAX_WHY)
    if not reason:
        raise RalphError("--why needs a reason.", remedy="Say why the task needs no work.")
    return instruct(Command.ACCEPT, target, tasks=(task,), text=reason, as_json=as_json)
