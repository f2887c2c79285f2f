"""`ralph pause`: the run that is under way starts nothing more until `ralph resume`."""

from __future__ import annotations

import click

from ralph.cli.complete import targets
from ralph.cli.steering import instruct, json_option, running_target
from ralph.plan.instruction import Command


@click.command(
    name="pause",
    epilog="""\b
Examples:
  ralph pause           the running attempts go on to their end, and nothing else starts
  ralph pause --now     they stop after the step that is running
  ralph resume          go on""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--now", is_flag=True, help="Do not wait for the running attempts: stop after their current step.")
@json_option
def command(target: str | None, now: bool, as_json: bool) -> int:
    """Pause the run of TARGET, or the one that is under way. It keeps its lock, spends nothing, and its budget's clock
    stands still. `ralph resume` lets it go on, `ralph stop` ends it."""
    return instruct(Command.PAUSE, running_target(target), now=now, as_json=as_json)
