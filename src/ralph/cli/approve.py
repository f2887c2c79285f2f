"""`ralph approve`: a person approves what a held task changed about the checks."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.engine.settle import approve_manually
from ralph.errors import RalphError
from ralph.plan.model import NeedKind, Plan, TaskState
from ralph.views.lines import say
from ralph.workflows.manual_edits import change_plan, need_a_person
from ralph.workflows.registry import find_task


@click.command(name="approve", epilog="Example: ralph approve auth US-003")
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--yes", is_flag=True, help="Confirm without a terminal, for your own scripts.")
def command(target: str, task: str, yes: bool) -> int:
    """Approve the work of TASK of TARGET (a feature, `request`, `requirements`, `specs`), which is held because it
    changed tests or what the gates lead to. The next run lands it without calling an agent. Only a person can approve.
    """
    need_a_person(yes=yes)
    approved: list[str] = []

    def approve(plan: Plan, _commit: str) -> Plan:
        found = find_task(plan, task)
        need = found.need
        if found.state is not TaskState.BLOCKED or not need or need.kind is not NeedKind.APPROVAL:
            raise RalphError(
                f"Nothing to approve: {task} is {found.standing}, not held.",
                remedy=f"`ralph status {target} --task {task}` shows what it waits for.",
            )
        approved.extend(need.concerns)
        return approve_manually(plan, found.id)

    found = change_plan(target, approve, accepting=True)
    for text in approved:
        say(f"  approved: {text}")
    say(f"{task} is approved. Run `{found.command}` to land it.")
    return 0
