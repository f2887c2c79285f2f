"""`ralph retry`: lets blocked tasks, the set-up or the final verification be tried again."""

from __future__ import annotations

import click

from ralph.cli.complete import targets
from ralph.cli.complete import tasks as task_ids
from ralph.cli.steering import instruct, json_option, words_of
from ralph.plan.instruction import Command


@click.command(
    name="retry",
    epilog="""\b
Examples:
  ralph retry auth                               every blocked task, and the final verification
  ralph retry auth US-003                        this task, whatever its state
  ralph retry auth US-003 --note "the key is in .env"
                                                 this task, and its agent is told
  ralph retry requirements                       every failed task, and the set-up""",
)
@click.argument("target", shell_complete=targets)
@click.argument("tasks", nargs=-1, shell_complete=task_ids)
@click.option("--note", help="Your words for the agents that try again.")
@json_option
def command(target: str, tasks: tuple[str, ...], note: str | None, as_json: bool) -> int:
    """Retry TASKS of TARGET (a feature, `request`, `requirements`, `specs`) with all their attempts, also while a run
    is under way. Without TASKS, retry every blocked task."""
    text = "" if note is None else words_of(note, "--note")
    return instruct(Command.RETRY, target, tasks=tasks, text=text, as_json=as_json)
