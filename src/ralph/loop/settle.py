"""All rules about passing, retrying, blocking and reopening, as one pure function."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.plan.model import Plan, Result, Review, Task, TaskState, learn
from ralph.plan.work import Kind, Outcome, Verdict, Work, standing

LONGEST_NOTES = 6_000


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a workflow decides about failures."""

    max_failures: int = 3  # attempts without success before a task is blocked; 0: no limit
    max_idle: int = 0  # attempts in a row without any change before it counts as stuck; 0: not looked at
    max_setup_failures: int = 3


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The plan after an outcome, and what is to be done to the place it happened in."""

    plan: Plan
    restore: str = ""  # the commit whose files are to come back, because the task's own work is not wanted


def settle(plan: Plan, work: Work, outcome: Outcome, policy: Policy) -> Settled:
    """Take an outcome into the plan. The same outcome twice changes nothing the second time."""
    if is_settled(plan, work, outcome.number):
        return Settled(plan=plan)
    plan = replace(plan, learnings=learn(plan.learnings, outcome.learnings))
    match work.kind:
        case Kind.REVIEW:
            return Settled(plan=_settle_review(plan, outcome, policy))
        case Kind.SETUP:
            return Settled(plan=_settle_setup(plan, outcome))
        case _:
            return _settle_task(plan, outcome, policy)


def is_settled(plan: Plan, work: Work, number: int) -> bool:
    known = standing(plan, work.kind, work.id)
    return known is None or number <= known.attempts


def _settle_task(plan: Plan, outcome: Outcome, policy: Policy) -> Settled:
    task = plan.find(outcome.work_id)
    assert task is not None, "is_settled has looked"
    base = task.base or outcome.base
    settled = replace(_judge(task, outcome, policy), attempts=outcome.number, base=base)
    plan = plan.change(task.id, lambda _: settled)
    if settled.state is not TaskState.PENDING:
        plan = replace(plan, current=None)
    return Settled(plan=plan, restore=base if settled.state is TaskState.BLOCKED else "")


def _judge(task: Task, outcome: Outcome, policy: Policy) -> Task:
    match outcome.verdict:
        case Verdict.PASSED:
            result = Result(
                completed_at=outcome.at, commit=outcome.commit, summary=outcome.summary, gates=outcome.gates
            )
            return replace(task, state=TaskState.PASSED, result=result, notes="", idle=0)
        case Verdict.BLOCKED:
            return replace(task, state=TaskState.BLOCKED, notes=_notes(outcome.reason))
        case Verdict.FAILED | Verdict.UNFINISHED:
            idle = 0 if outcome.changed else task.idle + 1
            return _unless_stuck(replace(_failed_once_more(task, outcome.reason, policy), idle=idle), policy)
        case _:
            return task


def _failed_once_more(task: Task, reason: str, policy: Policy) -> Task:
    failures = task.failures + 1
    if policy.max_failures:
        failures = min(failures, policy.max_failures)
    state = TaskState.BLOCKED if failures == policy.max_failures else TaskState.PENDING
    return replace(task, state=state, failures=failures, result=None, notes=_notes(reason))


def _unless_stuck(task: Task, policy: Policy) -> Task:
    """A loop that changed something is not stuck, whatever it came to."""
    if not policy.max_idle or task.idle < policy.max_idle:
        return task
    notes = f"Stuck: {task.idle} attempts in a row changed nothing. The last one: {task.notes}"
    return replace(task, state=TaskState.BLOCKED, notes=_notes(notes))


def _settle_setup(plan: Plan, outcome: Outcome) -> Plan:
    setup = replace(plan.setup, attempts=outcome.number)
    match outcome.verdict:
        case Verdict.PASSED:
            setup = replace(setup, failures=0, notes="", done=setup.done | {outcome.work_id})
        case Verdict.FAILED | Verdict.UNFINISHED | Verdict.BLOCKED:
            setup = replace(setup, failures=setup.failures + 1, notes=_notes(outcome.reason))
        case _:
            pass
    return replace(plan, setup=setup)


def _settle_review(plan: Plan, outcome: Outcome, policy: Policy) -> Plan:
    review = replace(plan.review, attempts=outcome.number)
    match outcome.verdict:
        case Verdict.PASSED:
            review = replace(review, failures=0, notes="", verified_at=outcome.at, verified_commit=outcome.commit)
        case Verdict.REOPENED:
            review = replace(review, failures=0, notes="")
            for task_id in dict.fromkeys(outcome.reopened):
                plan = plan.change(task_id, lambda task: _reopen(task, outcome.reason, policy))
        case Verdict.FAILED | Verdict.BLOCKED | Verdict.UNFINISHED:
            review = replace(review, failures=review.failures + 1, notes=_notes(outcome.reason))
        case _:
            pass
    return replace(plan, review=review)


def _reopen(task: Task, reason: str, policy: Policy) -> Task:
    """A reviewer sent it back: it begins anew on what is there now, later tasks' work included."""
    return replace(_failed_once_more(task, f"Final verification: {reason}", policy), base="")


def retry_by_hand(task: Task) -> Task:
    """A person wants it tried again from the start."""
    return replace(task, state=TaskState.PENDING, failures=0, idle=0, base="", notes="", result=None)


def accept_by_hand(task: Task, why: str, at: str, commit: str) -> Task:
    """A person vouches for it."""
    result = Result(completed_at=at, commit=commit, summary=f"Accepted by a person: {why}")
    return replace(task, state=TaskState.PASSED, result=result, notes="")


def reopen_review(plan: Plan) -> Plan:
    """Something changed by hand: the final verification is to be made again."""
    return replace(plan, review=Review(attempts=plan.review.attempts))


def _notes(reason: str) -> str:
    return reason if len(reason) <= LONGEST_NOTES else reason[: LONGEST_NOTES - 1] + "…"
