"""`ralph decide`: a person decides about a task that waits for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.complete import targets, tasks
from ralph.cli.needs import answers
from ralph.engine.decisions import decide
from ralph.errors import RalphError
from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Need, NeedKind, Plan, Task
from ralph.text import one_line
from ralph.verify.gate_list import UNNAMED, default_gates, simple_gates
from ralph.views.lines import say
from ralph.workflows.manual_edits import change_plan, need_a_person
from ralph.workflows.plan_rules import MAX_WHY
from ralph.workflows.registry import find, find_task
from ralph.workflows.target import Target


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
def command(target: str, task: str, approve: bool, gate_is_right: bool, skip: bool, note: str | None, yes: bool) -> int:
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
    return make_decision(target, task, given[0], note=note or "", yes=yes)


def make_decision(target: str, task: str, decision: TaskDecision, *, note: str = "", yes: bool) -> int:
    """Apply a person's decision to the plan, or say which ones fit."""
    need_a_person(yes=yes)
    note = one_line(note)
    if decision is TaskDecision.NOTE and not note:
        raise RalphError("--note needs your words.", remedy="Say what the agent should know.")
    if len(note) > MAX_WHY:
        raise RalphError(f"The note has {len(note)} characters; at most {MAX_WHY} fit.", remedy="Shorten it.")
    if find(workspaces.find(Path.cwd()), target).marked_by:
        raise RalphError(
            f"{target} is a session. Its files do not record what a person decides.",
            remedy=f"Run `ralph run {target}` to try its tasks again. To change them: ralph session --resume {target} "
            '--update "…"',
        )
    decided: list[Task] = []

    def change(plan: Plan, _commit: str) -> Plan:
        plan = plan.change(find_task(plan, task).id, _with_the_tests_named)
        found = find_task(plan, task)
        _check(target, found, decision)
        decided.append(found)
        return decide(plan, found.id, decision, note)

    found = change_plan(target, change, accepting=True)
    need = decided[0].need
    assert need, "it was checked"
    for text in need.concerns if decision is TaskDecision.APPROVE else ():
        say(f"  approved: {text}")
    say(_done(found, task, need, decision))
    return 0


def _with_the_tests_named(task: Task) -> Task:
    """If agents learn nothing, held-out acceptance tests have no name of their own. Find out whether they are meant."""
    if task.need is None or task.need.gate != UNNAMED:
        return task
    config = configuration.load(workspaces.find(Path.cwd()).root)
    is_meant = config.acceptance.enabled and not any(gate.held_out for gate in default_gates(config))
    return replace(task, need=replace(task.need, gate=ACCEPTANCE)) if is_meant else task


def _check(target: str, task: Task, decision: TaskDecision) -> None:
    if not task.needs_person or not task.need:
        held = ", not held" if decision is TaskDecision.APPROVE else ""
        raise RalphError(
            f"Nothing to {'approve' if held else 'decide'}: {task.id} is {task.standing}{held}.",
            remedy=f"`ralph status {target}` lists what needs you.",
        )
    if decision not in FITTING[task.need.kind]:
        raise RalphError(
            f"{decision.value} does not fit: {task.id} waits because {_because(task.need)}.",
            remedy=f"What fits: {'; '.join(answers(target, task))}.",
        )
    if decision is TaskDecision.SKIP and task.need.kind is not NeedKind.BLOCKED and task.need.gate != ACCEPTANCE:
        _check_gate(target, task.need.gate)


def _because(need: Need) -> str:
    return {
        NeedKind.APPROVAL: "its work is held",
        NeedKind.BLOCKED: "its agent says that it cannot be done",
        NeedKind.DISPUTE: "its agent disputes a gate",
        NeedKind.RED_BEFORE: "a gate was red before",
        NeedKind.TESTS: "it has no acceptance tests",
        NeedKind.LANDING: "the next run lands it",
    }[need.kind]


def _check_gate(target: str, name: str) -> None:
    """Only a configured gate can be skipped, and only if no other check has the same name."""
    config = configuration.load(workspaces.find(Path.cwd()).root)
    gates = (*default_gates(config), *simple_gates(config.verify.ui, config))
    known = [gate.name for gate in gates]
    same = [gate.held_out.name if gate.held_out else gate.name for gate in gates if gate.name == name]
    if name == UNNAMED and config.acceptance.enabled and config.acceptance.held_out:
        same.append(ACCEPTANCE)
    if name in known and len(same) > 1:
        raise RalphError(
            f"`{name}` stands for {len(same)} checks, {', '.join(same)}: --skip would waive them all.",
            remedy="The run's output says which one failed. Correct it (`ralph hold-out list` says where it is) or its "
            "gate, and answer with --gate-is-right.",
        )
    if name not in known:
        raise RalphError(
            f"There is no gate `{name}` to skip." if name else "The agent named no gate to skip.",
            remedy=f"The gates are: {', '.join(known) or 'none'}. Answer with --gate-is-right or --note instead.",
        )


def _done(target: Target, task: str, need: Need, decision: TaskDecision) -> str:
    run = f"Run `{target.command}`"
    match decision:
        case TaskDecision.APPROVE:
            return f"{task} is approved. {run} to land it."
        case TaskDecision.SKIP if need.kind is NeedKind.BLOCKED:
            return f"{task} is left out: it stays blocked. `ralph retry {target.name} {task}` brings it back."
        case TaskDecision.SKIP if need.kind is NeedKind.RED_BEFORE:
            return f"The gate `{need.gate}` is not required for {task}. {run} to land its work."
        case TaskDecision.SKIP if need.gate == ACCEPTANCE:
            return f"Acceptance tests are not required for {task}. {run} to try it again."
        case TaskDecision.NOTE if need.gate == ACCEPTANCE:
            return f"The acceptance tests of {task} are written again, and the tester is told. {run}."
        case TaskDecision.SKIP:
            return f"The gate `{need.gate}` is not required for {task}. {run} to try it again."
        case _:
            return f"{task} is tried again, and its agent is told. {run}."
