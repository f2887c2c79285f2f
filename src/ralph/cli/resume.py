"""`ralph resume`: a paused run goes on."""

from __future__ import annotations

import click

from ralph.cli.complete import targets
from ralph.cli.steering import instruct, json_option, running_target
from ralph.plan.instruction import Command


@click.command(name="resume", epilog="Example: ralph resume auth")
@click.argument("target", required=False, shell_complete=targets)
@json_option
def command(target: str | None, as_json: bool) -> int:
    """Let the paused run of TARGET go on, or the one that is under way. A run that has ended is started again with
    `ralph run`."""
    return instruct(Command.RESUME, running_target(target), as_json=as_json)
