"""What each instruction of a person does to a plan: the same whether a run is under way or not. Pure."""

from __future__ import annotations

from dataclasses import replace

from ralph.config import Config
from ralph.engine.decisions import LEAVES_OUT, decide
from ralph.engine.settle import (
    accept_manually,
    open_spec_of,
    reopen_review,
    retry_manually,
    retry_spec_manually,
    without_failure_of,
)
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.instruction import Acknowledgement, Command, Instruction
from ralph.plan.model import Need, NeedKind, Plan, SetupState, Task, TaskState
from ralph.plan.select import find_task
from ralph.verify.gate_list import UNNAMED, default_gates, simple_gates
from ralph.views import words
from ralph.views.inbox import answers


class Carried(Frozen):
    """The plan after an instruction, and what to tell the person."""

    plan: Plan
    said: Acknowledgement


def carry_out(plan: Plan, instruction: Instruction, config: Config, *, at: str, stands_on: str) -> Carried:
    """Change a plan as a person asks, or raise why that is not possible.

    `stands_on`: the commit that the plan's work stands on.
    """
    match instruction.command:
        case Command.SKIP:
            return _skip(plan, instruction)
        case Command.RETRY:
            return _retry(plan, instruction)
        case Command.NOTE:
            return _note(plan, instruction)
        case Command.EDIT:
            return _edit(plan, instruction)
        case Command.ACCEPT:
            return _accept(plan, instruction, at, stands_on)
        case Command.DECIDE:
            return _decide(plan, instruction, config)
        case _:
            raise RalphError(
                f"No run of {plan.target} is under way, so there is nothing to {instruction.command.value}.",
                remedy="`ralph status` says what is under way.",
            )


def _one(plan: Plan, instruction: Instruction) -> Task:
    return find_task(plan, next(iter(instruction.tasks), ""))


def _open(plan: Plan, instruction: Instruction, why: str) -> Task:
    """Return the task, which must not have passed."""
    task = _one(plan, instruction)
    if task.state is TaskState.PASSED:
        raise RalphError(
            f"{task.id} has passed, so {why}.",
            remedy=f"`ralph retry {plan.target} {task.id}` starts it from the beginning.",
        )
    return task


def _skip(plan: Plan, instruction: Instruction) -> Carried:
    task = _open(plan, instruction, "there is nothing to leave out")
    if task.left_out and task.state is TaskState.BLOCKED:
        raise RalphError(f"{task.id} is left out already.")
    plan = plan.change(task.id, lambda one: replace(one, state=TaskState.BLOCKED, left_out=True, need=None))
    plan = replace(plan, current=None if plan.current == task.id else plan.current)
    plan = open_spec_of(without_failure_of(plan, task.id), task.id)
    return Carried(plan=plan, said=Acknowledgement(said=_left_out(plan, task.id)))


def _left_out(plan: Plan, task: str) -> str:
    return f"{task} is left out: it stays blocked. `ralph retry {plan.target} {task}` brings it back."


def _retry(plan: Plan, instruction: Instruction) -> Carried:
    blocked = [task.id for task in plan if task.state is TaskState.BLOCKED and not task.left_out]
    chosen = [find_task(plan, task).id for task in instruction.tasks] or blocked
    tasks, note = list(chosen), instruction.text
    if plan.setup.failures:
        chosen.append("the set-up")
    for spec in plan.specs:
        if spec.failures and not instruction.tasks:
            plan = retry_spec_manually(plan, spec.id)
            chosen.append(f"the commit of {spec.id}")
    if not chosen and plan.review.failures:
        chosen.append("the final verification")
    if not chosen:
        raise RalphError(f"Nothing in {plan.target} is blocked.", remedy=f"See `ralph status {plan.target}`.")
    for task_id in tasks:
        plan = retry_manually(plan, task_id)
        if note:
            plan = plan.change(task_id, lambda task: replace(task, decisions=(note,)))
    plan = reopen_review(replace(plan, setup=SetupState(attempts=plan.setup.attempts, done=plan.setup.done)))
    return Carried(plan=plan, said=Acknowledgement(said=f"Reset {', '.join(chosen)}.", then="retry"))


def _note(plan: Plan, instruction: Instruction) -> Carried:
    task = _open(plan, instruction, "no agent would read the note")
    if task.state is TaskState.BLOCKED:
        fitting = [one for one in answers(plan.target, task) if TaskDecision.NOTE.value in one]
        again = fitting[0] if fitting else f'ralph retry {plan.target} {task.id} --note "…"'
        raise RalphError(
            f"{task.id} is {task.standing}, so no agent would read the note.",
            remedy=f"`{again}` tries it again with your words.",
        )
    plan = plan.change(task.id, lambda one: replace(one, decisions=(*one.decisions, instruction.text)))
    return Carried(plan=plan, said=Acknowledgement(said=f"The next agent at {task.id} reads your note.", then=""))


def _edit(plan: Plan, instruction: Instruction) -> Carried:
    task, wanted = _open(plan, instruction, "what it asks for does not matter any more"), instruction.wanted
    assert wanted, "the command has made it"
    if not wanted.title.strip():
        raise RalphError(f"{task.id} needs a title.")
    edited = replace(task, title=wanted.title, description=wanted.description, criteria=wanted.criteria)
    if edited == task:
        raise RalphError(f"Nothing of {task.id} has changed.")
    said = f"{task.id} asks for something else now. The next agent at it gets the new text."
    return Carried(plan=plan.change(task.id, lambda _: edited), said=Acknowledgement(said=said, then=""))


def _accept(plan: Plan, instruction: Instruction, at: str, stands_on: str) -> Carried:
    task = _one(plan, instruction)
    if task.state is TaskState.PASSED and task not in plan.unverified:
        said = words.accepted(task.acceptance) if task.acceptance else "passed"
        raise RalphError(f"Nothing to accept: {task.id} is already {said}.")
    by = instruction.by
    plan = reopen_review(accept_manually(plan, task.id, instruction.text, at, stands_on, by))
    who = f" by {by}" if by else ""
    said = f"{task.id} is accepted{who}, not verified."
    return Carried(plan=plan, said=Acknowledgement(said=said, then="continue with the rest"))


def _decide(plan: Plan, instruction: Instruction, config: Config) -> Carried:
    decision = TaskDecision(instruction.decision)
    plan = plan.change(_one(plan, instruction).id, lambda task: _with_the_tests_named(task, config))
    task = _one(plan, instruction)
    need = _fitting_need(plan.target, task, decision)
    if decision is TaskDecision.SKIP and need.kind not in LEAVES_OUT and need.gate != ACCEPTANCE:
        _check_gate(need.gate, config)
    after = decide(plan, task.id, decision, instruction.text)
    approved = need.concerns if decision is TaskDecision.APPROVE else ()
    return Carried(plan=after, said=replace(_done(plan, task.id, need, decision), approved=approved))


def _with_the_tests_named(task: Task, config: Config) -> Task:
    """If agents learn nothing, held-out acceptance tests have no name of their own. Find out whether they are meant."""
    if task.need is None or task.need.gate != UNNAMED:
        return task
    is_meant = config.acceptance.enabled and not any(gate.held_out for gate in default_gates(config))
    return replace(task, need=replace(task.need, gate=ACCEPTANCE)) if is_meant else task


def _fitting_need(target: str, task: Task, decision: TaskDecision) -> Need:
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
    return task.need


def _because(need: Need) -> str:
    return {
        NeedKind.APPROVAL: "its work is held",
        NeedKind.REVIEW: "its work is held",
        NeedKind.BLOCKED: "its agent says that it cannot be done",
        NeedKind.CONFLICT: "it conflicts with other work",
        NeedKind.DISPUTE: "its agent disputes a gate",
        NeedKind.RED_BEFORE: "a gate was red before",
        NeedKind.TESTS: "it has no acceptance tests",
        NeedKind.LANDING: "the next run lands it",
    }[need.kind]


def _check_gate(name: str, config: Config) -> None:
    """Only a configured gate can be skipped, and only if no other check has the same name."""
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


def _done(plan: Plan, task: str, need: Need, decision: TaskDecision) -> Acknowledgement:
    again = "try it again"
    match decision:
        case TaskDecision.APPROVE:
            return Acknowledgement(said=f"{task} is approved.", then="land it")
        case TaskDecision.SKIP if need.kind in LEAVES_OUT:
            return Acknowledgement(said=_left_out(plan, task))
        case TaskDecision.SKIP if need.kind is NeedKind.RED_BEFORE:
            said = f"The gate `{need.gate}` is not required for {task}."
            return Acknowledgement(said=said, then="land its work")
        case TaskDecision.SKIP if need.gate == ACCEPTANCE:
            return Acknowledgement(said=f"Acceptance tests are not required for {task}.", then=again)
        case TaskDecision.NOTE if need.gate == ACCEPTANCE:
            said = f"The acceptance tests of {task} are written again, and the tester is told."
            return Acknowledgement(said=said, then="")
        case TaskDecision.SKIP:
            return Acknowledgement(said=f"The gate `{need.gate}` is not required for {task}.", then=again)
        case _:
            return Acknowledgement(said=f"{task} is tried again, and its agent is told.", then="")
