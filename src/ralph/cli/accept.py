"""`ralph accept` : a person vouches for a story that needs no work."""

from __future__ import annotations

from dataclasses import replace

import click

from ralph.cli.complete import features
from ralph.cli.status import find_task
from ralph.errors import RalphError
from ralph.journal.writer import now
from ralph.loop.settle import accept_by_hand, reopen_review
from ralph.plan.model import Plan, TaskState
from ralph.workflows.by_hand import change_plan


@click.command(name="accept", epilog="Example: ralph accept auth US-003 --why 'US-001 does this already'")
@click.argument("feature", shell_complete=features)
@click.argument("story")
@click.option("--why", required=True, help="Why it needs no work; kept with the story.")
def command(feature: str, story: str, why: str) -> int:
    """Mark STORY of FEATURE as passed, because you say so. Only a person can."""

    def accept(plan: Plan, commit: str) -> Plan:
        task = find_task(plan, story)
        if task.state is TaskState.PASSED:
            raise RalphError(f"{story} has passed already.")
        plan = plan.change(task.id, lambda task: accept_by_hand(task, why, now(), commit))
        return reopen_review(replace(plan, current=None if plan.current == task.id else plan.current))

    change_plan(feature, accept)
    click.echo(f"{story} is accepted. `ralph run {feature}` goes on with the rest.")
    return 0
