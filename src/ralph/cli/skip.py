"""`ralph skip`: a person leaves a task out."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.cli.steering import instruct, json_option
from ralph.plan.instruction import Command


@click.command(name="skip", epilog="Example: ralph skip auth US-003")
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@json_option
def command(target: str, task: str, as_json: bool) -> int:
    """Leave TASK of TARGET (a feature, `request`, `requirements`, `specs`) out. If a run is under way and works on it,
    that attempt ends and its work is kept. Tasks that need it wait. `ralph retry` brings it back."""
    return instruct(Command.SKIP, target, tasks=(task,), as_json=as_json)
