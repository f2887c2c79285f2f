"""`ralph approve`: a person approves what a held task changed about the checks."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.cli.decide import make_decision
from ralph.cli.steering import json_option
from ralph.plan.decision import TaskDecision


@click.command(name="approve", epilog="Example: ralph approve auth US-003")
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--yes", is_flag=True, help="Confirm without a terminal, for your own scripts.")
@json_option
def command(target: str, task: str, yes: bool, as_json: bool) -> int:
    """Approve the work of TASK of TARGET (a feature, `request`, `requirements`, `specs`), which is held because it
    changed tests or what the gates lead to. The next run lands it without calling an agent. Only a person can approve.
    The same as `ralph decide TARGET TASK --approve`.
    """
    return make_decision(target, task, TaskDecision.APPROVE, yes=yes, as_json=as_json)
