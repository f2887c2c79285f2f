"""Shared by the commands that steer a run: gives the instruction, and says what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.plan.instruction import Command, Instruction
from ralph.stores import instructions
from ralph.text import one_line
from ralph.views.lines import say, say_json
from ralph.workflows.manual_edits import persons_name
from ralph.workflows.plan_rules import MAX_WHY
from ralph.workflows.steering import Result, steer

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def instruct(command: Command, target: str, *, as_json: bool = False, **more: Any) -> int:
    """Give an instruction and print what became of it; `more` are its other fields."""
    workspace = workspaces.find(Path.cwd())
    by = persons_name(Path.cwd())
    result = steer(workspace, Instruction(id=instructions.new_id(), command=command, target=target, by=by, **more))
    if as_json:
        say_json(_as_json(result))
    else:
        for text in result.said.approved:
            say(f"  approved: {text}")
        say(_sentence(result))
    return 0


def running_target(target: str | None) -> str:
    """Return the plan that is meant: without a name, the one on which a run is under way."""
    from ralph.stores import lock

    if target:
        return target
    owner = lock.holder(workspaces.find(Path.cwd()).lock)
    if not owner or not owner.target:
        raise RalphError("No run is under way here.", remedy="`ralph status` lists the plans.")
    return owner.target


def words_of(text: str, option: str) -> str:
    """Return a person's words for an agent on one line, or say what is wrong with them."""
    note = one_line(text)
    if not note:
        raise RalphError(f"{option} needs your words.", remedy="Say what the agent should know.")
    if len(note) > MAX_WHY:
        raise RalphError(f"The note has {len(note)} characters; at most {MAX_WHY} fit.", remedy="Shorten it.")
    return note


def _sentence(result: Result) -> str:
    said, then = result.said.said, result.said.then
    if then is None or result.is_pending:
        return said
    if result.by_run:
        return f"{said} The run that is under way goes on with it."
    return f"{said} Run `{result.target.command}`" + (f" to {then}." if then else ".")


def _as_json(result: Result) -> dict[str, object]:
    return {
        "target": result.target.name,
        "said": result.said.said,
        "byRun": result.by_run,
        "pending": result.is_pending,
        "run": result.target.command if result.said.then is not None and not result.by_run else None,
        "approved": list(result.said.approved),
    }
