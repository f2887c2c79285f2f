"""What a person decides about a task that waits for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.decisions import decide
from ralph.engine.settle import Policy, resume, retry_manually, settle
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Need, NeedKind, Plan, Task, TaskState
from ralph.plan.work import Outcome, Verdict, Work, WorkKind, without_agent

CLAIMS = (NeedKind.BLOCKED, NeedKind.DISPUTE, NeedKind.RED_BEFORE)
WORK = Work(kind=WorkKind.TASK, id="a", title="A", steps=())


def need(kind: NeedKind) -> Need:
    return Need(kind=kind, why="why", gate="" if kind is NeedKind.BLOCKED else "lint")


def waiting(kind: NeedKind, **more: object) -> Plan:
    task = Task(id="a", title="A", state=TaskState.BLOCKED, need=need(kind), notes="n", **more)  # type: ignore[arg-type]
    return Plan(target="t", tasks=(task, Task(id="b", title="B")))


def claim(plan: Plan, kind: NeedKind, policy: Policy, **more: object) -> Task:
    task = plan.find("a")
    assert task
    given_more: dict[str, object] = {"verdict": Verdict.BLOCKED, "need": need(kind), "reason": "r", **more}
    outcome = Outcome(work_id="a", number=task.attempts + 1, **given_more)  # type: ignore[arg-type]
    found = settle(plan, WORK, outcome, policy).find("a")
    assert found
    return found


POLICIES = st.builds(Policy, max_failures=st.integers(1, 4), halts=st.booleans())


@given(st.sampled_from(CLAIMS), st.integers(0, 3), POLICIES)
def test_a_claim_never_passes_a_task_and_costs_no_retry(kind: NeedKind, failures: int, policy: Policy) -> None:
    before = Task(id="a", title="A", failures=failures)
    plan = Plan(target="t", tasks=(before,))
    after = claim(plan, kind, policy)
    assert (after.state, after.failures, after.result) == (TaskState.BLOCKED, failures, None)
    assert after.need == need(kind)
    assert after.attempts == 1


@given(st.sampled_from(CLAIMS))
def test_one_agent_s_opinion_blocks_nothing_while_others_race(kind: NeedKind) -> None:
    plan = Plan(target="t", tasks=(Task(id="a", title="A"),))
    for left in ((2,), ()):
        task = claim(plan, kind, Policy(), rivals=(2,) if left else (1,))
        assert task.state is TaskState.PENDING
        assert task.need is None


@given(st.sampled_from(CLAIMS))
def test_a_claim_halts_nothing_and_starting_again_does_not_answer_it(kind: NeedKind) -> None:
    policy = Policy(halts=True)
    outcome = Outcome(work_id="a", number=1, verdict=Verdict.BLOCKED, need=need(kind), reason="r")
    plan = settle(Plan(target="t", tasks=(Task(id="a", title="A"),)), WORK, outcome, policy)
    assert plan.failure is None
    assert resume(plan).needs == plan.needs != ()


@pytest.mark.parametrize("kind", list(FITTING))
@pytest.mark.parametrize("decision", list(TaskDecision))
def test_after_a_decision_nobody_waits(kind: NeedKind, decision: TaskDecision) -> None:
    plan = waiting(kind, failures=2, attempts=5)
    if decision not in FITTING[kind]:
        with pytest.raises(AssertionError):
            decide(plan, "a", decision, "words")
        return
    task = decide(plan, "a", decision, "words").find("a")
    assert task
    assert not task.needs_person
    assert task.attempts == 5, "numbers are never reused"
    if task.left_out:
        assert (task.state, task.standing) == (TaskState.BLOCKED, "left out")
        assert resume(Plan(target="t", tasks=(task,))).tasks == (task,)
    else:
        assert (task.state, task.failures) == (TaskState.PENDING, 0)
        lands = task.need is not None and task.need.kind is NeedKind.LANDING
        assert lands or task.decisions or task.waived, "somebody is told"


def test_a_note_and_a_gate_that_is_right_are_kept_for_every_later_agent() -> None:
    plan = decide(waiting(NeedKind.DISPUTE), "a", TaskDecision.GATE_IS_RIGHT)
    task = plan.find("a")
    assert task and task.decisions == ("The gate `lint` is right, and this task must make it pass.",)
    again = claim(plan, NeedKind.BLOCKED, Policy())
    assert again.decisions == task.decisions, "a later run may ask again"
    noted = decide(plan.change("a", lambda _: again), "a", TaskDecision.NOTE, "words").find("a")
    assert noted and noted.decisions == (*task.decisions, "words")


def test_a_skipped_gate_is_waived_and_work_that_was_done_lands_without_an_agent() -> None:
    for kind, lands in ((NeedKind.RED_BEFORE, True), (NeedKind.DISPUTE, False)):
        plan = decide(waiting(kind), "a", TaskDecision.SKIP)
        task = plan.find("a")
        assert task and task.waived == ("lint",)
        assert (task.need is not None) == lands
        assert without_agent(plan, WORK) == WORK


def test_a_retry_forgets_what_was_decided() -> None:
    plan = decide(waiting(NeedKind.DISPUTE), "a", TaskDecision.SKIP)
    task = retry_manually(plan, "a").find("a")
    assert task and (task.waived, task.decisions, task.left_out) == ((), (), False)
    left_out = decide(waiting(NeedKind.BLOCKED), "a", TaskDecision.SKIP)
    fresh = retry_manually(left_out, "a").find("a")
    assert fresh and (fresh.state, fresh.left_out) == (TaskState.PENDING, False)
