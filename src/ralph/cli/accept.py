"""`ralph accept`: a person vouches for a task that needs no work."""

from __future__ import annotations

import click

from ralph.cli.complete import targets
from ralph.errors import RalphError
from ralph.journal.writer import now
from ralph.loop.settle import accept_by_hand, reopen_review
from ralph.plan.model import Plan, TaskState
from ralph.workflows.by_hand import change_plan, need_a_person
from ralph.workflows.targets import find_task


@click.command(name="accept", epilog="Example: ralph accept auth US-003 --why 'US-001 does this already'")
@click.argument("target", shell_complete=targets)
@click.argument("task")
@click.option("--why", required=True, help="Why it needs no work; kept with the story.")
@click.option("--yes", is_flag=True, help="You mean it, and there is no terminal: for scripts of your own.")
def command(target: str, task: str, why: str, yes: bool) -> int:
    """Mark TASK of TARGET (a feature, `request`, `requirements`, `specs`) as passed, because you say so. Only a
    person can: never an agent, a gate, or anything else that a run started."""
    need_a_person(yes=yes)

    def accept(plan: Plan, commit: str) -> Plan:
        found = find_task(plan, task)
        if found.state is TaskState.PASSED:
            raise RalphError(f"{task} has passed already.")
        return reopen_review(accept_by_hand(plan, found.id, why, now(), commit))

    found = change_plan(target, accept, vouching=True)
    click.echo(f"{task} is accepted. `{found.command}` goes on with the rest.")
    return 0
