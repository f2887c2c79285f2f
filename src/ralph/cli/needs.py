"""What waits for a person: each such task, why, and the commands that answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Need, NeedKind, Plan, Task, TaskState
from ralph.views import words
from ralph.views.lines import say

MAX_WHY = 300
HEADING = "Needs you"


def answers(target: str, task: Task) -> list[str]:
    """The commands that answer a need, the most likely first."""
    fitting = FITTING[task.need.kind] if task.needs_person and task.need else ()
    return [_command(target, task.id, decision) for decision in fitting]


def _command(target: str, task: str, decision: TaskDecision) -> str:
    if decision is TaskDecision.APPROVE:
        return f"ralph approve {target} {task}"
    return f"ralph decide {target} {task} {decision.value}" + (' "…"' if decision is TaskDecision.NOTE else "")


def headline(need: Need) -> str:
    """What a task waits for, in one line."""
    gate = f"`{need.gate}`" if need.gate else "a gate"
    gate = "its acceptance tests" if need.gate == ACCEPTANCE else gate
    said = {
        NeedKind.APPROVAL: "held",
        NeedKind.BLOCKED: "its agent cannot do it",
        NeedKind.DISPUTE: f"its agent disputes {gate}",
        NeedKind.RED_BEFORE: "was red before",
        NeedKind.TESTS: "has no acceptance tests",
        NeedKind.LANDING: "approved",
    }[need.kind]
    return words.cut(f"{said}: {need.why}", MAX_WHY)


def lines(plans: Iterable[tuple[str, Plan]]) -> Iterator[str]:
    """Two lines for each task: what and why, then how to answer."""
    for target, plan in plans:
        for task in plan.needs:
            assert task.need, "it needs a person"
            yield f"  {target} {task.id} {words.cut(task.title, 60)} · {headline(task.need)}"
            first, *others = answers(target, task)
            same = first.partition(f" {task.id}")[0]
            options = [other.removeprefix(f"{same} {task.id} ") for other in others]
            yield f"    → {first}" + (f", or {', '.join(options)}" if options else "")


def only_waits(plan: Plan) -> bool:
    """Whether every blocked task waits for a person's decision or is left out, so that `ralph retry` is no answer."""
    blocked = [task for task in plan if task.state is TaskState.BLOCKED]
    return bool(blocked) and all(task.need or task.left_out for task in blocked)


def show(plans: Iterable[tuple[str, Plan]]) -> None:
    """Print the section, if anything is in it."""
    found = list(lines(plans))
    if found:
        say(f"{HEADING}:", bold=True, fg="yellow")
        say("\n".join(found), hang=4)
        say()


def as_json(target: str, plan: Plan | None) -> list[dict[str, object]]:
    return [{"id": task.id, "title": task.title, **need_entry(target, task)} for task in (plan.needs if plan else ())]


def need_entry(target: str, task: Task) -> dict[str, object]:
    assert task.need, "it needs a person"
    need = task.need
    return {
        "kind": need.kind.value,
        "why": need.why,
        "gate": need.gate or None,
        "concerns": list(need.concerns),
        "answers": answers(target, task),
    }
