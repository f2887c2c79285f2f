"""Halting: the first task that is out of attempts ends all; starting again gives it new ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.settle import Policy, accept_manually, resume, retry_manually, settle
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.work import Outcome, Verdict, Work, WorkKind

IDS = ("a", "b", "c")
HISTORIES = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(Verdict)), max_size=25)
HALTS = Policy(max_failures=2, halts=True)
NEW = Plan(target="request", tasks=tuple(Task(id=name, title=name.upper()) for name in IDS))


def after(plan: Plan, history: list[tuple[str, Verdict]], policy: Policy = HALTS) -> Plan:
    for moment, (name, verdict) in enumerate(history):
        task = plan.find(name)
        assert task is not None
        work = Work(kind=WorkKind.TASK, id=name, title=name, steps=())
        outcome = Outcome(work_id=name, number=task.attempts + 1, verdict=verdict, reason="red", at=str(moment))
        plan = settle(plan, work, outcome, policy)
    return plan


@given(HISTORIES)
def test_a_plan_has_halted_exactly_if_a_task_is_blocked(history: list[tuple[str, Verdict]]) -> None:
    """Neighbours may end after the first failure: that one stays the reason until it has passed after all."""
    for length in range(len(history) + 1):
        plan = after(NEW, history[:length])
        blocked = [task.id for task in plan if task.state is TaskState.BLOCKED]
        assert bool(plan.failure) == bool(blocked)
        assert not plan.failure or plan.failure.task in blocked
        assert not plan.failure or plan.failure.title == plan.failure.task.upper()
        assert after(NEW, history[:length], Policy(max_failures=2)).failure is None, "only where it is wanted"


@given(HISTORIES)
def test_starting_again_gives_attempts_anew_and_forgets_nothing(history: list[tuple[str, Verdict]]) -> None:
    before = after(NEW, history)
    plan = resume(before)
    assert plan.failure is None
    assert plan.count(TaskState.BLOCKED) == 0
    for old, new in zip(before, plan, strict=True):
        assert (new.attempts, new.tried, new.notes) == (old.attempts, old.tried, old.notes)
        assert new == old or (old.state is TaskState.BLOCKED and new.failures == 0)
    assert resume(plan) == plan


def test_the_first_failure_is_the_one_that_is_told() -> None:
    red = Verdict.FAILED
    plan = after(NEW, [("a", red), ("b", red), ("b", red), ("a", red), ("c", Verdict.PASSED)])
    assert plan.failure and (plan.failure.task, plan.failure.message, plan.failure.at) == ("b", "red", "2")
    assert plan.find("c").state is TaskState.PASSED  # type: ignore[union-attr]  # a neighbour ended well
    assert retry_manually(plan, "b").failure is None
    assert accept_manually(plan, "b", "why", "now", "c0").failure is None
    assert accept_manually(plan, "a", "why", "now", "c0").failure == plan.failure
