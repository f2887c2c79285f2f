"""`ralph note`: a person tells the next agent at a task something."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.cli.steering import instruct, json_option, words_of
from ralph.plan.instruction import Command


@click.command(
    name="note",
    epilog="""\b
Examples:
  ralph note auth US-003 "use <, not <="          for the next attempt
  ralph note auth US-003 "use <, not <=" --now    end the running attempt, and start it again with the note""",
)
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.argument("text")
@click.option("--now", is_flag=True, help="End the running attempt, at no cost, and start the next one with the note.")
@json_option
def command(target: str, task: str, text: str, now: bool, as_json: bool) -> int:
    """Put TEXT into the prompt of every later attempt at TASK of TARGET (a feature, `request`, `requirements`,
    `specs`), also while a run is under way."""
    return instruct(Command.NOTE, target, tasks=(task,), text=words_of(text, "A note"), now=now, as_json=as_json)
