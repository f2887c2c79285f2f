"""What needs a person: one list, in one order, each item with the commands that settle it. All views share it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from ralph.frozen import Frozen
from ralph.journal.events import RunEnded
from ralph.journal.reader import last_end
from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Need, NeedKind, Plan, Task, TaskState
from ralph.plan.work import Ending
from ralph.stores import agent_limits, instructions, lock
from ralph.views import words
from ralph.views.lines import say
from ralph.workspace import Workspace

MAX_WHY = 300
WORDS_OF_TASK = 4
"""`ralph COMMAND TARGET TASK`: the same words begin several answers."""
HEADING = "Needs you"
DECISION, OUT_OF_ATTEMPTS = "decision", "out-of-attempts"
ORDER = (
    "environment",
    "paused",
    DECISION,
    OUT_OF_ATTEMPTS,
    "commit",
    "setup",
    "verification",
    "budget",
    "limit",
    "flaky-gate",
)
"""What comes first: what keeps everything else from going on. Tasks are in the order of their plan."""
ENDINGS = {Ending.STOPPED: "environment", Ending.BUDGET: "budget"}
"""Why no run goes on by itself, by how the last one ended."""
SAID_BY_RUN = frozenset({*ENDINGS.values(), "limit"})
"""What the end of a run says itself."""


class InboxItem(Frozen):
    """One thing that waits for a person."""

    kind: str  # the kind of a task's need, or one of ORDER
    headline: str  # what it waits for, in one line
    why: str
    target: str = ""  # empty: it is about the whole project
    task: str = ""  # empty: it is not about one task
    title: str = ""
    gate: str = ""
    concerns: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()  # the commands that settle it, the most likely first

    @property
    def rank(self) -> int:
        return ORDER.index(self.kind if self.kind in ORDER else DECISION)


def of_plan(target: str, plan: Plan, command: str, *, by_roles: bool = False) -> tuple[InboxItem, ...]:
    """Return what a plan itself says.

    `command` runs it; `by_roles`: only its roles change its tasks, so that running it again is the only answer.
    """
    found = [*_tasks(target, plan, command, by_roles=by_roles), *_rest(target, plan, command)]
    return tuple(sorted(found, key=lambda item: item.rank))


def of_run(workspace: Workspace, target: str, plan: Plan, command: str) -> tuple[InboxItem, ...]:
    """Return why the run that is under way does nothing, or why the last one ended although something is left to do."""
    owner = lock.holder(workspace.lock)
    if owner and owner.target == target:
        paused = instructions.paused_run(workspace, target, owner)
        if not paused:
            return ()
        said, answers = "paused by you", (f"ralph resume {target}", f"ralph stop {target}")
        return (InboxItem(kind="paused", headline=said, why=said, target=target, answers=answers),)
    if not any(task.state is TaskState.PENDING for task in plan):
        return ()
    ended = last_end(workspace.logs, target)
    kind = (ENDINGS.get(ended.ending) or _environment(ended, plan)) if ended else None
    if not ended or not kind:
        return ()
    why = ended.reason
    answer = f"{command} --budget …" if kind == "budget" else command
    headline = words.cut(f"the last run stopped: {words.first_line(why)}", MAX_WHY)
    return (InboxItem(kind=kind, headline=headline, why=why, target=target, answers=(answer,)),)


def _environment(ended: RunEnded, plan: Plan) -> str | None:
    """Return the kind of an ending for which the plan had no reason: a gate that cannot run failed several tasks."""
    has_reason = ended.blocked or plan.count(TaskState.BLOCKED) or plan.setup.failures or plan.review.failures
    has_reason = has_reason or any(spec.failures for spec in plan.specs)
    return "environment" if ended.ending is Ending.BLOCKED and not has_reason else None


def of_agents(workspace: Workspace, command: str, clock: float | None = None) -> tuple[InboxItem, ...]:
    """Return the agents that are limited now; a run waits for them by itself."""
    now = time.time() if clock is None else clock
    limits = [limit for limit in agent_limits.read(workspace.records / agent_limits.NAME) if limit.until > now]
    return tuple(
        InboxItem(
            kind="limit",
            headline=words.cut(f"{limit.agent} is limited {_until(limit.until, now)}: {limit.reason}", MAX_WHY),
            why=limit.reason,
            answers=(f"{command} --try-now",) if command else (),
        )
        for limit in limits
    )


def of_gates(proposals: Iterable[tuple[str, str]]) -> tuple[InboxItem, ...]:
    """Return the gates that nobody can rely on: each name with what Ralph proposes."""
    answers = ("ralph validate",)
    return tuple(
        InboxItem(kind="flaky-gate", headline=text, why=text, gate=name, answers=answers) for name, text in proposals
    )


def in_order(items: Iterable[InboxItem]) -> tuple[InboxItem, ...]:
    """Put what several plans and the project need into the one order of the list."""
    return tuple(sorted(items, key=lambda item: item.rank))


def _until(until: float, now: float) -> str:
    form = "%H:%M" if until - now < 20 * 3600 else "%Y-%m-%d %H:%M"
    return f"until {time.strftime(form, time.localtime(until))}"


def _tasks(target: str, plan: Plan, command: str, *, by_roles: bool) -> Iterator[InboxItem]:
    for task in plan:
        if task.needs_person and task.need:
            need = task.need
            yield InboxItem(
                kind=need.kind.value,
                headline=headline(need),
                why=need.why,
                target=target,
                task=task.id,
                title=task.title,
                gate=need.gate,
                concerns=need.concerns,
                answers=tuple(answers(target, task)),
            )
        elif task.state is TaskState.BLOCKED and not task.left_out:
            why = words.first_line(task.notes)
            yield InboxItem(
                kind=OUT_OF_ATTEMPTS,
                headline=words.cut(f"blocked: {why}" if why else "blocked", MAX_WHY),
                why=task.notes,
                target=target,
                task=task.id,
                title=task.title,
                answers=(command,) if by_roles else _again(target, task.id),
            )


def _again(target: str, task: str) -> tuple[str, ...]:
    retry = f"ralph retry {target} {task}"
    return retry, f'{retry} --note "…"', f"ralph skip {target} {task}"


def _rest(target: str, plan: Plan, command: str) -> Iterator[InboxItem]:
    """Yield what a plan needs that is about none of its tasks."""
    retry = (f"ralph retry {target}",)
    for spec in plan.specs:
        if spec.failures and all(task.state is not TaskState.PENDING for task in plan.of_spec(spec.id)):
            yield _item("commit", f"{spec.name} could not be committed", spec.notes, target, retry)
    if plan.setup.failures and plan.setup.notes:
        yield _item("setup", "the set-up failed", plan.setup.notes, target, retry)
    if plan.review.failures and plan.review.notes:
        yield _item("verification", "the final verification did not pass", plan.review.notes, target, retry)


def _item(kind: str, what: str, why: str, target: str, answers: tuple[str, ...]) -> InboxItem:
    said = words.cut(f"{what}: {words.first_line(why)}", MAX_WHY)
    return InboxItem(kind=kind, headline=said, why=why, target=target, answers=answers)


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
        NeedKind.REVIEW: "held",
        NeedKind.BLOCKED: "its agent cannot do it",
        NeedKind.CONFLICT: "conflicts again and again",
        NeedKind.DISPUTE: f"its agent disputes {gate}",
        NeedKind.RED_BEFORE: "was red before",
        NeedKind.TESTS: "has no acceptance tests",
        NeedKind.LANDING: "approved",
    }[need.kind]
    return words.cut(f"{said}: {words.first_line(need.why)}", MAX_WHY)


def lines(items: Iterable[InboxItem]) -> Iterator[str]:
    """Two lines for each item: what and why, then how to settle it."""
    for item in items:
        what = " ".join(filter(None, (item.target, item.task, words.cut(item.title, 60))))
        yield f"  {what} · {item.headline}" if what else f"  {item.headline}"
        if item.answers:
            first, *others = item.answers
            options = [_shortened(other, first) for other in others]
            yield f"    → {first}" + (f", or {', '.join(options)}" if options else "")


def _shortened(command: str, first: str) -> str:
    """Leave out what a command has in common with the one before it, if that is all but its options."""
    same = " ".join(first.split()[:WORDS_OF_TASK]) + " "
    return command.removeprefix(same) if same.count(" ") == WORDS_OF_TASK else command


def only_waits(plan: Plan) -> bool:
    """Whether every blocked task waits for a person's decision or is left out, so that `ralph retry` is no answer."""
    blocked = [task for task in plan if task.state is TaskState.BLOCKED]
    return bool(blocked) and all(task.need or task.left_out for task in blocked)


def show(items: Iterable[InboxItem]) -> None:
    """Print the section, if anything is in it."""
    found = list(lines(items))
    if found:
        say(f"{HEADING}:", bold=True, fg="yellow")
        say("\n".join(found), hang=4)
        say()


def as_json(items: Iterable[InboxItem]) -> list[dict[str, object]]:
    return [{"id": item.task or None, "title": item.title or None, **entry(item)} for item in items]


def as_need(target: str, task: Task) -> dict[str, object]:
    """What one task waits for."""
    return next(entry(item) for item in _tasks(target, Plan(target=target, tasks=(task,)), "", by_roles=False))


def entry(item: InboxItem) -> dict[str, object]:
    return {
        "kind": item.kind,
        "why": item.why,
        "gate": item.gate or None,
        "concerns": list(item.concerns),
        "answers": list(item.answers),
    }
