"""`ralph stop`: the run that is under way ends."""

from __future__ import annotations

import click

from ralph.cli.complete import targets
from ralph.cli.steering import instruct, json_option, running_target
from ralph.plan.instruction import Command


@click.command(
    name="stop",
    epilog="""\b
Examples:
  ralph stop          end the run when its running attempts have ended
  ralph stop --now    end it now, as Ctrl-C does; the work of its agents is kept""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--now", is_flag=True, help="Do not wait for the running attempts.")
@json_option
def command(target: str | None, now: bool, as_json: bool) -> int:
    """End the run of TARGET, or the one that is under way: nothing starts any more, and it ends after its running
    attempts. `ralph run` continues later."""
    return instruct(Command.STOP, running_target(target), now=now, as_json=as_json)
