"""`ralph decide`: a person decides about a task that waits for them."""

from __future__ import annotations

import click

from ralph.cli.complete import targets, tasks
from ralph.cli.steering import instruct, json_option, words_of
from ralph.errors import RalphError
from ralph.plan.decision import TaskDecision
from ralph.plan.instruction import Command
from ralph.workflows.manual_edits import need_a_person


@click.command(
    name="decide",
    epilog="""\b
Examples:
  ralph decide auth US-003 --gate-is-right                an agent disputed a gate: it must pass
  ralph decide auth US-003 --skip                         the gate is not required for this task
  ralph decide auth US-004 --note "The key is in .env"    an agent was blocked: try again with this
  ralph decide auth US-004 --skip                         leave the task out""",
)
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--approve", is_flag=True, help="Land the work of a held task (`ralph approve`).")
@click.option("--gate-is-right", is_flag=True, help="The gate must pass; an agent tries again and is told so.")
@click.option(
    "--skip", is_flag=True, help="Do not require the gate for this task; or, for a blocked task, leave it out."
)
@click.option("--note", help="An agent tries again with your words in its prompt.")
@click.option("--yes", is_flag=True, help="Confirm without a terminal, for your own scripts.")
@json_option
def command(
    target: str,
    task: str,
    approve: bool,
    gate_is_right: bool,
    skip: bool,
    note: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Decide about TASK of TARGET (a feature, `request`, `requirements`, `specs`), which waits for you: its agent says
    that it cannot be done or that a gate is wrong, a gate was red before, or its work is held. `ralph status` lists
    such tasks under *Needs you*. Only a person can decide."""
    chosen = {
        TaskDecision.APPROVE: approve,
        TaskDecision.GATE_IS_RIGHT: gate_is_right,
        TaskDecision.SKIP: skip,
        TaskDecision.NOTE: note is not None,
    }
    given = [decision for decision, is_given in chosen.items() if is_given]
    if len(given) != 1:
        every = ", ".join(decision.value for decision in TaskDecision)
        raise RalphError(
            "Give one decision." if not given else "Give only one decision.", remedy=f"The decisions are {every}."
        )
    return make_decision(target, task, given[0], note=note or "", yes=yes, as_json=as_json)


def make_decision(target: str, task: str, decision: TaskDecision, *, note: str = "", yes: bool, as_json: bool) -> int:
    """Apply a person's decision to the plan, or say which ones fit."""
    need_a_person(yes=yes)
    text = words_of(note, "--note") if decision is TaskDecision.NOTE else ""
    return instruct(Command.DECIDE, target, tasks=(task,), decision=decision.value, text=text, as_json=as_json)
