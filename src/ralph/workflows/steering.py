"""Has a person's instruction carried out: by the run that is under way, or else at once."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

from ralph import config as configuration
from ralph.engine.instructions import carry_out
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.journal.writer import now
from ralph.plan.instruction import ABOUT_RUN, Acknowledgement, Command, Instruction
from ralph.plan.model import Plan
from ralph.process.table import lineage
from ralph.stores import crash_file, instructions, lock
from ralph.stores.lock import Owner
from ralph.workflows.manual_edits import change_plan, check_outside
from ralph.workflows.registry import find
from ralph.workflows.target import Target
from ralph.workspace import Workspace

PATIENCE = 10.0
"""Seconds in which a run usually answers; it carries out what it was asked also later."""
LOOK = 0.05
LATER = "The run has not answered yet. It does this as soon as it can; `ralph logs --follow` shows when."
STANDS_IN_FOR_GATES = frozenset({Command.ACCEPT, Command.DECIDE})


class Result(Frozen):
    """What became of an instruction, and who carried it out."""

    target: Target
    said: Acknowledgement
    by_run: bool = False  # the run that is under way did, or will
    is_pending: bool = False  # it has not answered yet


def steer(workspace: Workspace, instruction: Instruction) -> Result:
    """Ask the run that is under way, and wait shortly for what it says; without one, change the plan here."""
    check_outside(workspace)
    target = find(workspace, instruction.target)
    if target.marked_by and instruction.command not in (*ABOUT_RUN, Command.ACCEPT):
        raise RalphError(
            f"Only the session's roles can change the tasks of {target.name}. Its files do not record what a person "
            "decides.",
            remedy=f"Run `{target.command}` to try its tasks again. To change them: ralph session --resume "
            f'{target.name} --update "…". `ralph pause`, `resume`, `stop` and `accept` work for it.',
        )
    owner = _run_of(workspace, target.name)
    answered = _ask(workspace, target, replace(instruction, run=owner.run), owner) if owner else None
    if answered:
        return answered
    if instruction.command in ABOUT_RUN:
        raise RalphError(
            f"No run of {target.name} is under way, so there is nothing to {instruction.command.value}.",
            remedy=f"`{target.command}` starts one.",
        )
    return _carry_out_here(workspace, target, instruction)


def _run_of(workspace: Workspace, target: str) -> Owner | None:
    owner = lock.holder(workspace.lock)
    if not owner or owner.target != target:
        return None
    if owner.pid in lineage():
        raise RalphError("Only a person can do this, but a run called it.", remedy="Run the command yourself.")
    return owner


def _ask(workspace: Workspace, target: Target, instruction: Instruction, owner: Owner) -> Result | None:
    """Return what the run says; None if it ended without reading this, so that nobody has done it."""
    instructions.post(workspace, instruction)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        still = lock.holder(workspace.lock)
        has_ended = not still or still.run != owner.run
        said = instructions.answer_to(workspace, instruction)  # after that, because it may have answered at its end
        if said and said.is_refused:
            raise RalphError(said.said, remedy=said.remedy)
        if said:
            return Result(target=target, said=said, by_run=True)
        if has_ended:
            instructions.withdraw(workspace, instruction)
            return None
        time.sleep(LOOK)
    return Result(target=target, said=Acknowledgement(said=LATER), by_run=True, is_pending=True)


def _carry_out_here(workspace: Workspace, target: Target, instruction: Instruction) -> Result:
    """Change the plan under the lock, after what an earlier run was asked and has not done."""
    config = configuration.load(workspace.root)
    left: list[Instruction] = []
    found: list[Acknowledgement] = []

    def change(plan: Plan, commit: str) -> Plan:
        left.extend(instructions.waiting(workspace, target.name))
        done = crash_file.done_of(workspace, target.name)
        for one in left:
            if one.id not in done and one.command not in ABOUT_RUN:
                with suppress(RalphError):  # it does not fit any more
                    plan = carry_out(plan, one, config, at=now(), stands_on=commit).plan
        carried = carry_out(plan, instruction, config, at=now(), stands_on=commit)
        found.append(carried.said)
        return carried.plan

    changed = change_plan(target.name, change, accepting=instruction.command in STANDS_IN_FOR_GATES)
    for one in left:
        instructions.withdraw(workspace, one)
    return Result(target=changed, said=found[-1])
