"""Passing, retrying, blocking and reopening: rules that hold for any history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config import Config
from ralph.engine.settle import (
    MAX_NOTES,
    MAX_TRIED,
    MAX_TRIED_LINE,
    Policy,
    accept_manually,
    is_settled,
    reopen_review,
    resume,
    retry_manually,
    settle,
)
from ralph.engine.verdict import conclude
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import (
    FinalReview,
    Finding,
    GateResult,
    Plan,
    SetupState,
    Severity,
    Spec,
    Task,
    TaskResult,
    TaskState,
)
from ralph.plan.work import Ending, Finished, Outcome, StepSpec, Usage, Verdict, Work, WorkKind, progress_of
from ralph.workflows.specs.workflow import SpecsWorkflow

IDS = ("US-1", "US-2", "US-3")
COSTLESS = (Verdict.LIMITED, Verdict.INTERRUPTED)
GATE = GateResult(name="test", command="make test", passed=True, seconds=1.5)

RESULTS = st.builds(TaskResult, completed_at=st.just("then"), commit=st.just("c0"), summary=st.text(max_size=5))


@st.composite
def tasks(draw: st.DrawFn, name: str, most: int) -> Task:
    state = draw(st.sampled_from(TaskState))
    return Task(
        id=name,
        title=name,
        state=state,
        failures=draw(st.integers(0, most if state is not TaskState.PENDING else most - 1)),
        attempts=draw(st.integers(0, 6)),
        base=draw(st.sampled_from(["", "base0"])),
        notes=draw(st.text(max_size=5)),
        result=draw(st.none() | RESULTS),
    )


POLICIES = st.builds(Policy, max_failures=st.integers(1, 4))
REVIEWS = st.builds(
    FinalReview,
    attempts=st.integers(0, 4),
    failures=st.integers(0, 2),
    notes=st.text(max_size=5),
    verified_at=st.sampled_from(["", "before"]),
)


@st.composite
def plans(draw: st.DrawFn, policy: Policy) -> Plan:
    return Plan(
        target="auth",
        tasks=tuple(draw(tasks(name, policy.max_failures)) for name in IDS),
        current=draw(st.sampled_from((None, *IDS))),
        learnings=tuple(draw(st.lists(st.sampled_from(["a", "b"]), unique=True))),
        review=draw(REVIEWS),
    )


STORIES = tuple(Work(kind=WorkKind.TASK, id=name, title=name, steps=()) for name in IDS)
REVIEW = Work(kind=WorkKind.REVIEW, id="final", title="final", steps=())
OTHERS = (
    Work(kind=WorkKind.TASK, id="gone", title="gone", steps=()),
    Work(kind=WorkKind.PLAN, id="prd-draft", title="prd", steps=()),
)


@st.composite
def outcomes(draw: st.DrawFn, work: Work, verdicts: tuple[Verdict, ...] = tuple(Verdict)) -> Outcome:
    return Outcome(
        work_id=work.id,
        number=draw(st.integers(1, 8)),
        verdict=draw(st.sampled_from(verdicts)),
        reason=draw(st.text(max_size=20)),
        at="now",
        commit=draw(st.sampled_from(["", "c1"])),
        summary=draw(st.text(max_size=10)),
        gates=(GATE,),
        learnings=tuple(draw(st.lists(st.sampled_from(["a", "A.", "new", " new "]), max_size=3))),
        reopened=tuple(draw(st.lists(st.sampled_from((*IDS, "gone")), unique=True, max_size=3))),
        usage=Usage(calls=1),
        base=draw(st.sampled_from(["", "base1"])),
    )


Case = tuple[Plan, Work, Outcome, Policy]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Anything, sensible or not."""
    policy, work = draw(POLICIES), draw(st.sampled_from((*STORIES, REVIEW, *OTHERS)))
    return draw(plans(policy)), work, draw(outcomes(work)), policy


@st.composite
def next_attempts(draw: st.DrawFn, works: tuple[Work, ...], *verdicts: Verdict) -> Case:
    """The next attempt at work that was to be done."""
    policy, work = draw(POLICIES), draw(st.sampled_from(works))
    plan = draw(plans(policy))
    pending = draw(tasks(work.id, policy.max_failures).filter(lambda task: task.state is TaskState.PENDING))
    plan = plan.change(work.id, lambda _: pending)
    seen = plan.review.attempts if work.kind is WorkKind.REVIEW else pending.attempts
    outcome = replace(draw(outcomes(work, verdicts)), number=seen + draw(st.integers(1, 3)))
    return plan, work, outcome, policy


@given(cases())
def test_the_same_outcome_twice_changes_nothing_the_second_time(case: Case) -> None:
    plan, work, outcome, policy = case
    once = settle(plan, work, outcome, policy)
    again = settle(once, work, outcome, policy)
    assert again == once
    assert is_settled(once, work, outcome.number)


@given(cases())
def test_an_older_attempt_that_turns_up_late_changes_nothing(case: Case) -> None:
    plan, work, outcome, policy = case
    task = plan.find(work.id)
    seen = plan.review.attempts if work.kind is WorkKind.REVIEW else task.attempts if task else 99
    late = replace(outcome, number=seen)
    assert settle(plan, work, late, policy) is plan


@given(cases())
def test_nothing_passes_without_the_verdict_that_it_passed(case: Case) -> None:
    plan, work, outcome, policy = case
    after = settle(plan, work, outcome, policy)
    for old, new in zip(plan, after, strict=True):
        if new.state is TaskState.PASSED and old.state is not TaskState.PASSED:
            assert outcome.verdict is Verdict.PASSED
            assert work.id == new.id
    if after.review.verified_at != plan.review.verified_at:
        assert work.kind is WorkKind.REVIEW
        assert outcome.verdict is Verdict.PASSED


@given(next_attempts(STORIES, Verdict.PASSED))
def test_what_passed_keeps_its_proof(case: Case) -> None:
    plan, work, outcome, policy = case
    after = settle(plan, work, outcome, policy)
    passed = after.find(work.id)
    assert passed is not None
    assert passed.state is TaskState.PASSED
    assert passed.notes == ""
    assert passed.result == TaskResult(
        completed_at="now",
        commit=outcome.commit,
        summary=outcome.summary,
        gates=(GATE,),
        agent=outcome.agent,
        usage=outcome.usage if outcome.usage.calls else None,
    )
    assert after.current == (None if plan.current == work.id else plan.current)


@given(next_attempts((*STORIES, REVIEW), *COSTLESS))
def test_an_interruption_and_a_usage_limit_cost_nothing(case: Case) -> None:
    plan, work, outcome, policy = case
    settled = settle(plan, work, outcome, policy)
    assert settled.current == plan.current
    for old, new in zip(plan, settled, strict=True):
        spent = {"seconds": old.seconds, "usage": old.usage}  # time and money are gone all the same
        assert replace(new, attempts=old.attempts, base=old.base, **spent) == old
    assert replace(settled.review, attempts=plan.review.attempts) == plan.review


@given(st.data(), POLICIES, st.lists(st.sampled_from(Verdict), max_size=12))
def test_failures_never_exceed_what_is_allowed_and_then_it_is_blocked(
    data: st.DataObject, policy: Policy, verdicts: list[Verdict]
) -> None:
    work = STORIES[0]
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t"),), current="US-1")
    for number, verdict in enumerate(verdicts, 1):
        task = plan.tasks[0]
        if task.state is not TaskState.PENDING:
            break
        outcome = data.draw(outcomes(work, (verdict,)))
        plan = settle(plan, work, replace(outcome, number=number), policy)
        after = plan.tasks[0]
        assert after.failures == task.failures + (verdict in (Verdict.FAILED, Verdict.UNFINISHED))
        assert after.failures <= policy.max_failures
        stalemate = verdict is Verdict.REOPENED and (task.rounds > 0 or policy.max_rounds == 0)  # nothing new was found
        assert (after.state is TaskState.BLOCKED) == (
            verdict in (Verdict.BLOCKED, Verdict.HELD) or after.failures == policy.max_failures or stalemate
        )
        assert after.attempts == number


@given(next_attempts(STORIES, Verdict.FAILED, Verdict.BLOCKED))
def test_a_task_that_becomes_blocked_makes_room_and_says_why(case: Case) -> None:
    plan, work, outcome, policy = case
    settled = settle(plan, work, outcome, policy)
    task, after = plan.find(work.id), settled.find(work.id)
    assert task is not None
    assert after is not None
    assert after.base == (task.base or outcome.base)
    blocked = after.state is TaskState.BLOCKED
    assert settled.current == (None if blocked and plan.current == work.id else plan.current)
    assert after.notes == outcome.reason


@given(next_attempts((REVIEW,), Verdict.REOPENED))
def test_a_review_reopens_only_what_it_names(case: Case) -> None:
    plan, work, outcome, policy = case
    after = settle(plan, work, outcome, policy)
    for old, new in zip(plan, after, strict=True):
        if old.id not in outcome.reopened:
            assert new is old
            continue
        assert new.state is not TaskState.PASSED
        assert new.result is None
        assert new.base == ""
        assert new.resets == old.resets + 1
        if old.resets < policy.max_failures:
            assert new.failures == new.resets, "what failed before it had passed counts no more"
        assert outcome.reason in new.notes
    assert after.review.failures == 0


@given(cases())
def test_a_task_changes_only_itself(case: Case) -> None:
    plan, work, outcome, policy = case
    after = settle(plan, work, outcome, policy)
    if work.kind is WorkKind.TASK:
        assert all(new is old for old, new in zip(plan, after, strict=True) if old.id != work.id)
        assert after.review == plan.review


@given(cases())
def test_learnings_are_kept_once_and_never_lost(case: Case) -> None:
    plan, work, outcome, policy = case
    after = settle(plan, work, outcome, policy)
    assert after.learnings[: len(plan.learnings)] == plan.learnings
    known = [text.casefold().rstrip(".") for text in after.learnings]
    assert len(set(known)) == len(known)
    if not is_settled(plan, work, outcome.number):
        assert {text.strip().casefold().rstrip(".") for text in outcome.learnings} <= set(known)


def reviewed(verdict: Verdict, review: FinalReview | None = None, **more: object) -> FinalReview:
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t"),), review=review or FinalReview())
    number = plan.review.attempts + 1
    outcome = Outcome(work_id="final", number=number, verdict=verdict, reason="why", at="now", commit="c1", **more)
    return settle(plan, REVIEW, outcome, Policy()).review


def test_a_review_that_agrees_is_remembered_with_its_commit() -> None:
    assert reviewed(Verdict.PASSED, FinalReview(failures=2, notes="old")) == FinalReview(
        attempts=1, verified_at="now", verified_commit="c1"
    )


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.BLOCKED])
def test_a_review_without_a_usable_verdict_is_counted(verdict: Verdict) -> None:
    assert reviewed(verdict, FinalReview(failures=1)) == FinalReview(attempts=1, failures=2, notes="why")


@pytest.mark.parametrize("verdict", COSTLESS)
def test_a_review_that_was_cut_short_is_not_counted(verdict: Verdict) -> None:
    assert reviewed(verdict, FinalReview(failures=1, notes="old")) == FinalReview(attempts=1, failures=1, notes="old")


def test_notes_are_cut_to_a_length_that_a_prompt_can_hold() -> None:
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t"),))
    work = STORIES[0]
    outcome = Outcome(work_id="US-1", number=1, verdict=Verdict.FAILED, reason="x" * 100_000)
    notes = settle(plan, work, outcome, Policy()).tasks[0].notes
    assert len(notes) == MAX_NOTES
    assert notes.endswith("x…")


def test_a_person_who_wants_another_try_gets_a_fresh_start_with_new_numbers() -> None:
    task = Task(id="a", title="A", state=TaskState.BLOCKED, failures=3, attempts=5, base="b", notes="n")
    assert retry_manually(Plan(target="t", tasks=(task,)), "a").tasks == (Task(id="a", title="A", attempts=5),)


def test_what_a_person_accepts_passes_and_says_so() -> None:
    task = Task(id="a", title="A", state=TaskState.BLOCKED, failures=3, notes="n")
    accepted = accept_manually(Plan(target="t", tasks=(task,)), "a", "no work needed", "now", "c1").tasks[0]
    assert accepted.state is TaskState.PASSED
    assert accepted.notes == ""
    assert accepted.result is not None
    assert accepted.result.summary == "Accepted by a person: no work needed"
    assert accepted.result.gates == ()


def test_a_review_to_be_made_again_keeps_only_its_count() -> None:
    plan = Plan(target="t", review=FinalReview(attempts=4, failures=2, notes="n", verified_at="x", verified_commit="c"))
    assert reopen_review(plan).review == FinalReview(attempts=4)


# loops that do not finish, and loops that change nothing

CHANGED = st.lists(st.booleans(), max_size=12)


def outcome_of(number: int, verdict: Verdict = Verdict.UNFINISHED, **more: object) -> Outcome:
    return replace(Outcome(work_id="US-1", number=number, verdict=verdict, reason=f"reason {number}"), **more)


def after_all(history: list[Outcome], policy: Policy) -> Task:
    """The task after one outcome upon another, for as long as there is something to be done."""
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t"),), current="US-1")
    for outcome in history:
        if plan.tasks[0].state is TaskState.PENDING:
            plan = settle(plan, STORIES[0], outcome, policy)
    return plan.tasks[0]


@given(next_attempts(STORIES, Verdict.UNFINISHED))
def test_an_attempt_that_did_not_finish_counts_like_one_that_failed(case: Case) -> None:
    plan, work, outcome, policy = case
    unfinished = settle(plan, work, outcome, policy)
    assert unfinished == settle(plan, work, replace(outcome, verdict=Verdict.FAILED), policy)
    task, after = plan.find(work.id), unfinished.find(work.id)
    assert task is not None
    assert after is not None
    assert after.failures == task.failures + 1
    assert after.notes == outcome.reason
    ended = after.state is TaskState.BLOCKED and plan.current == work.id
    assert unfinished.current == (None if ended else plan.current)


@given(st.lists(st.sampled_from([Verdict.FAILED, Verdict.UNFINISHED]), max_size=30))
def test_without_a_limit_no_number_of_failures_is_too_many(verdicts: list[Verdict]) -> None:
    history = [outcome_of(number, verdict) for number, verdict in enumerate(verdicts, 1)]
    task = after_all(history, Policy(max_failures=0))
    assert task.state is TaskState.PENDING
    assert task.failures == task.attempts == len(verdicts)


def test_without_a_limit_an_agent_can_still_give_up() -> None:
    task = after_all([outcome_of(1), outcome_of(2, Verdict.BLOCKED)], Policy(max_failures=0))
    assert (task.state, task.notes) == (TaskState.BLOCKED, "reason 2")


def test_without_a_limit_a_reviewer_can_send_a_task_back_as_often_as_it_likes() -> None:
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t", state=TaskState.PASSED, failures=5),))
    reset = Outcome(work_id="final", number=1, verdict=Verdict.REOPENED, reason="no", reopened=("US-1",))
    task = settle(plan, REVIEW, reset, Policy(max_failures=0)).tasks[0]
    assert (task.state, task.failures) == (TaskState.PENDING, 1)


@given(CHANGED, st.integers(1, 4), st.sampled_from([Verdict.FAILED, Verdict.UNFINISHED]))
def test_a_task_is_stuck_after_enough_attempts_in_a_row_that_changed_nothing(
    changed: list[bool], most: int, verdict: Verdict
) -> None:
    history = [outcome_of(number, verdict, changed=moved) for number, moved in enumerate(changed, 1)]
    task = after_all(history, Policy(max_failures=0, max_idle=most))
    in_a_row = loops = 0
    for moved in changed:
        loops += 1
        in_a_row = 0 if moved else in_a_row + 1
        if in_a_row == most:
            break
    assert (task.idle, task.attempts) == (in_a_row, loops)
    assert (task.state is TaskState.BLOCKED) is (in_a_row == most)
    assert task.notes.startswith("Stuck") is (in_a_row == most)


def test_what_is_stuck_says_for_how_long_and_what_was_last() -> None:
    history = [outcome_of(number, changed=number == 1) for number in (1, 2, 3)]
    task = after_all(history, Policy(max_failures=0, max_idle=2))
    assert task.notes == "Stuck: 2 attempts in a row changed nothing. The last attempt: reason 3"


def test_a_stuck_task_makes_room_for_the_next() -> None:
    plan = Plan(target="auth", tasks=(Task(id="US-1", title="t", base="b0", idle=1),), current="US-1")
    settled = settle(plan, STORIES[0], outcome_of(1, changed=False), Policy(max_failures=0, max_idle=2))
    assert settled.current is None


@given(CHANGED)
def test_idle_attempts_are_counted_but_block_nothing_where_nobody_looks(changed: list[bool]) -> None:
    history = [outcome_of(number, changed=moved) for number, moved in enumerate(changed, 1)]
    task = after_all(history, Policy(max_failures=0, max_idle=0))
    assert task.state is TaskState.PENDING
    assert "Stuck" not in task.notes


def test_a_task_that_passed_is_not_idle_any_more() -> None:
    history = [outcome_of(1, changed=False), outcome_of(2, Verdict.PASSED, changed=False)]
    task = after_all(history, Policy(max_failures=0, max_idle=2))
    assert (task.state, task.idle) == (TaskState.PASSED, 0)


@given(st.lists(st.sampled_from(COSTLESS), max_size=6), st.booleans())
def test_an_attempt_that_was_cut_short_is_neither_a_loop_nor_an_idle_one(
    verdicts: list[Verdict], changed: bool
) -> None:
    before = [outcome_of(1, changed=False)]
    cut = [outcome_of(number, verdict, changed=changed) for number, verdict in enumerate(verdicts, 2)]
    policy = Policy(max_failures=2, max_idle=2)
    task = after_all([*before, *cut], policy)
    assert replace(task, attempts=1) == after_all(before, policy)


def test_a_very_long_reason_leaves_room_to_say_that_a_task_is_stuck() -> None:
    task = after_all([outcome_of(1, reason="x" * 100_000, changed=False)], Policy(max_failures=0, max_idle=1))
    assert len(task.notes) == MAX_NOTES
    assert task.notes.startswith("Stuck: 1 ")


def test_a_person_who_wants_another_try_of_what_was_stuck_gets_all_of_its_loops_again() -> None:
    task = Task(id="a", title="A", state=TaskState.BLOCKED, failures=3, idle=3, attempts=5, notes="Stuck: …")
    assert retry_manually(Plan(target="t", tasks=(task,)), "a").tasks == (Task(id="a", title="A", attempts=5),)


# steps that run once

SETUP = Work(kind=WorkKind.SETUP, id="setup", title="Set-up: setup", steps=())
BEGUN = Plan(
    target="requirements",
    tasks=(Task(id="US-1", title="t", failures=1),),
    current="US-1",
    setup=SetupState(attempts=2, failures=1, notes="old", done=frozenset({"install"})),
)


def set_up(verdict: Verdict, number: int = 3, plan: Plan = BEGUN) -> Plan:
    outcome = Outcome(work_id="setup", number=number, verdict=verdict, reason="why", learnings=("l",), base="b")
    return settle(plan, SETUP, outcome, Policy(max_failures=1, max_idle=1))


def test_a_step_that_runs_once_is_done_when_it_passed() -> None:
    assert set_up(Verdict.PASSED).setup == SetupState(attempts=3, done=frozenset({"install", "setup"}))


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.UNFINISHED, Verdict.BLOCKED])
def test_a_step_that_runs_once_and_did_not_pass_is_counted_and_comes_again(verdict: Verdict) -> None:
    assert set_up(verdict).setup == replace(BEGUN.setup, attempts=3, failures=2, notes="why")


@pytest.mark.parametrize("verdict", COSTLESS)
def test_a_step_that_runs_once_and_was_cut_short_costs_nothing(verdict: Verdict) -> None:
    assert set_up(verdict).setup == replace(BEGUN.setup, attempts=3)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_step_that_runs_once_changes_no_task_and_teaches_what_it_learned(verdict: Verdict) -> None:
    plan = set_up(verdict)
    assert replace(plan, setup=BEGUN.setup, learnings=()) == BEGUN
    assert plan.learnings == ("l",)


@given(st.sampled_from(Verdict), st.integers(1, 6))
def test_a_step_that_runs_once_is_settled_once_for_each_number(verdict: Verdict, number: int) -> None:
    once = set_up(verdict, number)
    assert is_settled(once, SETUP, number)
    assert set_up(verdict, number, once) is once
    assert (once is BEGUN) is (number <= BEGUN.setup.attempts)
    assert once.setup.attempts == max(number, BEGUN.setup.attempts)


# specs: what passed is committed when all of their tasks are settled

FINISHABLE = (Verdict.FAILED, Verdict.BLOCKED, Verdict.UNFINISHED)


@st.composite
def specs_to_finish(draw: st.DrawFn) -> tuple[Plan, Policy]:
    """A spec `a` whose tasks are all settled, beside another one."""
    policy = Policy(max_failures=draw(st.integers(1, 4)))
    made = []
    for name in ("a-1", "a-2", "a-3", "b-1")[draw(st.integers(0, 2)) :]:
        task = draw(tasks(name, policy.max_failures))
        if name != "b-1":
            task = replace(task, state=draw(st.sampled_from([TaskState.PASSED, TaskState.BLOCKED])))
        at = draw(st.sampled_from(["1", "2", "3"]))
        result = TaskResult(completed_at=at, commit="c0", summary="") if task.state is TaskState.PASSED else None
        failures = min(task.failures, policy.max_failures - 1) if task.state is TaskState.PASSED else task.failures
        made.append(replace(task, spec=name[0], result=result, base=f"base of {name}", failures=failures))
    specs = (Spec(id="a", name="A", attempts=draw(st.integers(0, 3))), Spec(id="b", name="B"))
    return Plan(target="specs", tasks=tuple(made), specs=specs), policy


def finishing(plan: Plan, *steps: StepResult) -> Outcome:
    """What an attempt at committing the spec `a` comes to."""
    spec = plan.specs[0]
    record = Record(
        run="r",
        target="specs",
        kind=WorkKind.FINISH,
        work="a",
        number=spec.attempts + 1,
        base="tip",
        branch="main",
        began=0.0,
        steps=steps,
    )
    return conclude(plan, FINISH, record, "9")


FINISH = Work(kind=WorkKind.FINISH, id="a", title="A", steps=(StepSpec(type="verify"), StepSpec(type="git-commit")))
GREEN_GATES = StepResult(step="verify", verdict=Verdict.PASSED, gates=(GATE,))
COMMITTED = StepResult(step="git-commit", verdict=Verdict.PASSED, commit="c9", summary="feat: A")
RED_GATES = StepResult(step="verify", verdict=Verdict.FAILED, reason="red", gates=(replace(GATE, passed=False),))
REFUSED = StepResult(step="git-commit", verdict=Verdict.FAILED, reason="The commit failed in a git hook")
WRONG = ((RED_GATES,), (GREEN_GATES, REFUSED))
CUT = StepResult(step="verify", verdict=Verdict.INTERRUPTED, reason="Ctrl-C")


@given(specs_to_finish())
def test_a_spec_that_was_committed_is_closed_as_passed_exactly_if_all_of_its_tasks_are(
    case: tuple[Plan, Policy],
) -> None:
    plan, policy = case
    settled = settle(plan, FINISH, finishing(plan, GREEN_GATES, COMMITTED), policy)
    spec = settled.specs[0]
    states = [task.state for task in plan.of_spec("a")]
    blocked = [task.id for task in plan.of_spec("a") if task.state is TaskState.BLOCKED]
    assert spec.state is (TaskState.BLOCKED if blocked else TaskState.PASSED)
    assert spec.notes == (f"blocked: {', '.join(blocked)}" if blocked else "")
    commit = "c9" if TaskState.PASSED in states else ""
    assert spec.result == TaskResult(completed_at="9", commit=commit, summary="feat: A", gates=(GATE,))
    assert settled.tasks == plan.tasks


@given(specs_to_finish(), st.sampled_from(WRONG), st.integers(0, 5))
def test_a_spec_that_is_red_or_refused_stays_open_and_takes_no_task_back(
    case: tuple[Plan, Policy], steps: tuple[StepResult, ...], failures: int
) -> None:
    plan, policy = case
    plan = plan.change_spec("a", lambda spec: replace(spec, failures=failures))
    settled = settle(plan, FINISH, finishing(plan, *steps), policy)
    spec = settled.specs[0]
    assert (spec.state, spec.failures, spec.notes) == (TaskState.PENDING, failures + 1, steps[-1].reason)
    assert settled.tasks == plan.tasks


@given(specs_to_finish(), st.sampled_from([(GREEN_GATES, COMMITTED), *WRONG, (CUT,), ()]))
def test_finishing_a_spec_settles_once_and_never_touches_another(
    case: tuple[Plan, Policy], steps: tuple[StepResult, ...]
) -> None:
    plan, policy = case
    outcome = finishing(plan, *steps)
    once = settle(plan, FINISH, outcome, policy)
    again = settle(once, FINISH, outcome, policy)
    assert again == once
    assert once.specs[1] == plan.specs[1]
    assert once.of_spec("b") == plan.of_spec("b")
    for old, new in zip(plan, once, strict=True):
        kept = ("id", "title", "attempts", "base", "tried", "seconds", "usage", "spec")
        assert [getattr(new, name) for name in kept] == [getattr(old, name) for name in kept]
        assert new.failures >= old.failures
    if not steps or CUT in steps:
        assert once == plan.change_spec("a", lambda spec: replace(spec, attempts=outcome.number))


@given(
    st.data(),
    st.integers(1, 4),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.booleans(),
)
def test_a_build_comes_to_its_end_whatever_happens(
    data: st.DataObject, most: int, sizes: list[int], pessimism: bool
) -> None:
    """At most `most` failures for each task and for each spec's commit."""
    config = Config.read({"provider": {"command": "x"}, "maxRetries": most, "gates": []})
    workflow = SpecsWorkflow(config, Path("/nowhere"))
    specs = tuple(
        Spec(id=f"s{n}", name=f"S{n}", priority=data.draw(st.integers(0, 2)), in_order=data.draw(st.booleans()))
        for n in range(len(sizes))
    )
    todo = tuple(
        Task(id=f"s{n}-{number}", title="t", spec=f"s{n}") for n, size in enumerate(sizes) for number in range(size)
    )
    plan, turns = Plan(target="specs", tasks=todo, specs=specs), 0
    limit = (len(todo) + len(specs)) * (most + 1)
    verdicts = [Verdict.PASSED, Verdict.FAILED] + ([Verdict.BLOCKED, Verdict.UNFINISHED] if pessimism else [])
    while not isinstance(work := workflow.next(plan), Finished):
        turns += 1
        assert turns <= limit, "it goes round and round"
        verdict = data.draw(st.sampled_from(verdicts))
        known = progress_of(plan, work.kind, work.id)
        assert known is not None
        steps = tuple(spec.label for spec in work.steps)
        made = (
            *(StepResult(step=name, verdict=Verdict.PASSED) for name in steps[:-1]),
            StepResult(step=steps[-1], verdict=verdict),
        )
        record = Record(
            run="r",
            target="specs",
            kind=work.kind,
            work=work.id,
            number=known.attempts + 1,
            base="b",
            branch="main",
            began=0.0,
            steps=made,
        )
        if work.kind is WorkKind.TASK:
            plan = replace(plan, current=work.id)
        plan = settle(plan, work, conclude(plan, work, record, f"{turns:06}", 1.0), workflow.policy)
    refused = [spec for spec in plan.specs if spec.failures]
    if refused:
        assert {spec.failures for spec in refused} == {most}
        left = [spec for spec in plan.specs if spec.state is TaskState.PENDING and not spec.failures]
        assert all(spec.in_order for spec in left), "what is independent of a refused spec is built"
        assert work.ending is Ending.BLOCKED
        return
    assert all(task.state is not TaskState.PENDING for task in plan)
    assert all(spec.state is not TaskState.PENDING for spec in plan.specs)
    whole = all(task.state is TaskState.PASSED for task in plan)
    assert work.ending is (Ending.DONE if whole else Ending.BLOCKED)
    for spec in plan.specs:
        states = {task.state for task in plan.of_spec(spec.id)}
        assert spec.state is (TaskState.PASSED if states == {TaskState.PASSED} else TaskState.BLOCKED)


# what was tried, and what it took


@given(st.lists(st.tuples(st.sampled_from(Verdict), st.floats(0, 100), st.integers(0, 5)), max_size=10))
def test_time_and_money_of_all_attempts_add_up(attempts: list[tuple[Verdict, float, int]]) -> None:
    history = [
        outcome_of(number, verdict, seconds=seconds, usage=Usage(calls=1, input_tokens=tokens))
        for number, (verdict, seconds, tokens) in enumerate(attempts, 1)
    ]
    task = after_all(history, Policy(max_failures=0))
    counted = history[: task.attempts]
    assert task.seconds == pytest.approx(sum(outcome.seconds for outcome in counted))
    assert task.usage.calls == len(counted)
    assert task.usage.input_tokens == (sum(o.usage.input_tokens or 0 for o in counted) if counted else None)


@given(st.lists(st.sampled_from(Verdict), max_size=14))
def test_each_attempt_that_did_not_pass_leaves_a_line_and_the_last_ones_are_kept(verdicts: list[Verdict]) -> None:
    history = [outcome_of(number, verdict) for number, verdict in enumerate(verdicts, 1)]
    task = after_all(history, Policy(max_failures=0))
    unsuccessful = (*FINISHABLE, Verdict.HELD, Verdict.CONFLICTED, Verdict.REOPENED)
    bad = [o.number for o in history[: task.attempts] if o.verdict in unsuccessful]
    assert [int(line.split(":")[0].removeprefix("Attempt ")) for line in task.tried] == bad[-MAX_TRIED:]


@given(st.text(max_size=600), st.lists(st.text(max_size=10), max_size=3))
def test_what_was_tried_is_one_short_line_whatever_a_gate_printed_and_files_are_called(
    reason: str, touched: list[str]
) -> None:
    task = after_all([outcome_of(1, Verdict.FAILED, reason=reason, touched=tuple(touched))], Policy())
    [line] = task.tried
    assert line.startswith("Attempt 1:")
    assert len(line.splitlines()) == 1
    assert len(line) < MAX_TRIED_LINE + 100
    assert ("It changed nothing." in line) is not bool(touched)


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("exit code 1: no proof", "Attempt 1: exit code 1: no proof. It changed a.py."),
        ("It gave up.", "Attempt 1: It gave up. It changed a.py."),
    ],
)
def test_what_was_tried_is_in_sentences(reason: str, line: str) -> None:
    task = after_all([outcome_of(1, Verdict.FAILED, reason=reason, touched=("a.py",))], Policy())
    assert task.tried == (line,)


def test_what_a_person_accepts_has_no_files_that_go_back() -> None:
    """Its own work was given back when it was blocked; what others made since is not its to take along."""
    task = Task(id="a", title="A", state=TaskState.BLOCKED, failures=3, base="b0", notes="n")
    assert accept_manually(Plan(target="t", tasks=(task,)), "a", "why", "now", "c1").tasks[0].base == ""


@pytest.mark.parametrize(
    "change", [lambda plan: retry_manually(plan, "a-1"), lambda plan: accept_manually(plan, "a-1", "w", "5", "c")]
)
def test_a_task_that_a_person_changes_opens_its_spec_and_no_other(change: Callable[[Plan], Plan]) -> None:
    blocked = Task(id="a-1", title="t", spec="a", state=TaskState.BLOCKED)
    specs = tuple(Spec(id=name, name=name, state=TaskState.BLOCKED, attempts=2, notes="n") for name in "ab")
    opened = change(Plan(target="specs", tasks=(blocked,), specs=specs))
    assert opened.specs == (Spec(id="a", name="a", attempts=2), specs[1])


def found(problem: str, severity: Severity = Severity.MAJOR, **more: object) -> Finding:
    return replace(Finding(severity=severity, file="a.py", line=1, problem=problem), **more)


def sent_back(number: int, *findings: Finding, **more: object) -> Outcome:
    return outcome_of(number, Verdict.REOPENED, findings=findings, **more)


@given(st.integers(0, 6), st.integers(1, 3))
def test_a_review_sends_a_task_back_so_often_and_no_more(most: int, failures: int) -> None:
    """Each time with something new; it costs no retry."""
    history = [sent_back(number, found(f"problem {number}")) for number in range(1, 10)]
    task = after_all(history, Policy(max_failures=failures, max_rounds=most))
    assert (task.state, task.rounds, task.attempts, task.failures) == (TaskState.BLOCKED, most, most + 1, 0)
    assert task.notes.endswith(f"reason {most + 1}")
    assert task.findings == (found(f"problem {most + 1}"),)


@given(
    st.lists(st.sampled_from([Verdict.FAILED, Verdict.LIMITED, Verdict.INTERRUPTED, Verdict.CONFLICTED]), max_size=3)
)
def test_the_same_findings_twice_in_a_row_block_at_once(between: list[Verdict]) -> None:
    """Whatever came to pass between the two reviews, and wherever the lines are by now."""
    first = found("An empty cart raises"), found("Short", Severity.MINOR)
    second = found("an empty  CART raises.", line=9, remedy="another"), found("Long", Severity.MINOR)
    others = [outcome_of(number, verdict) for number, verdict in enumerate(between, 2)]
    history = [sent_back(1, *first), *others, sent_back(len(others) + 2, *second)]
    task = after_all(history, Policy(max_failures=0, max_rounds=9))
    assert task.state is TaskState.BLOCKED
    assert task.notes.startswith("Stalemate: two reviews in a row found the same problems. reason")


@pytest.mark.parametrize(
    "second",
    [(found("another"),), (found("the same"), found("another")), (found("the same", file="b.py"),)],
)
def test_a_review_that_finds_something_else_is_no_stalemate(second: tuple[Finding, ...]) -> None:
    task = after_all([sent_back(1, found("the same")), sent_back(2, *second)], Policy(max_rounds=9))
    assert (task.state, task.rounds) == (TaskState.PENDING, 2)


def test_what_a_good_review_found_is_remembered_and_a_person_can_begin_anew() -> None:
    minor = found("Short", Severity.MINOR)
    task = after_all([sent_back(1, found("bad")), outcome_of(2, Verdict.PASSED, findings=(minor,))], Policy())
    assert (task.state, task.rounds, task.findings, task.notes) == (TaskState.PASSED, 1, (minor,), "")
    blocked = replace(task, state=TaskState.BLOCKED)
    plan = Plan(target="t", tasks=(blocked,))
    assert resume(plan).tasks[0].rounds == 0
    again = retry_manually(plan, task.id).tasks[0]
    assert (again.rounds, again.findings) == (0, ())


# Races


@st.composite
def races(draw: st.DrawFn) -> tuple[Plan, tuple[Outcome, ...], Policy]:
    """The attempts of one race, in any order in which they can end: nothing lands after one has passed."""
    policy, count = draw(POLICIES), draw(st.integers(2, 4))
    pending = draw(tasks("US-1", policy.max_failures).filter(lambda task: task.state is TaskState.PENDING))
    plan = draw(plans(policy)).change("US-1", lambda _: pending)
    numbers = [pending.attempts + draw(st.integers(1, 3)) + index * 3 for index in range(count)]
    ended: list[Outcome] = []
    for number in draw(st.permutations(numbers)):
        has_passed = any(outcome.verdict is Verdict.PASSED for outcome in ended)
        possible = tuple(verdict for verdict in Verdict if verdict is not Verdict.PASSED or not has_passed)
        rivals = tuple(other for other in numbers if other != number)
        ended.append(replace(draw(outcomes(STORIES[0], possible)), number=number, rivals=rivals, reopened=()))
    return plan, tuple(ended), policy


@given(races())
def test_a_race_is_one_try_whoever_ends_first(case: tuple[Plan, tuple[Outcome, ...], Policy]) -> None:
    plan, ended, policy = case
    before = plan.find("US-1")
    assert before
    settled = plan
    for number, outcome in enumerate(ended, 1):
        settled = settle(settled, STORIES[0], outcome, policy)
        assert settled == settle(settled, STORIES[0], outcome, policy), "settled once"
        assert all(is_settled(settled, STORIES[0], one.number) for one in ended[:number])
        assert not any(is_settled(settled, STORIES[0], one.number) for one in ended[number:])
    after = settled.find("US-1")
    assert after
    assert after.failures <= before.failures + 1
    assert (after.attempts, after.racing) == (max(outcome.number for outcome in ended), ())
    assert after.usage.calls == before.usage.calls + len(ended), "what each racer used counts"
    verdicts = [outcome.verdict for outcome in ended]
    if Verdict.PASSED in verdicts:
        winner = ended[verdicts.index(Verdict.PASSED)]
        assert after.state is TaskState.PASSED and after.failures == before.failures
        assert after.result and after.result.agent == winner.agent
    elif set(verdicts) <= {Verdict.FAILED, Verdict.BLOCKED, Verdict.UNFINISHED}:
        assert after.failures == before.failures + 1


@given(cases(), st.lists(st.integers(1, 9), max_size=2))
def test_no_outcome_turns_a_passed_task_back(case: Case, rivals: list[int]) -> None:
    plan, work, outcome, policy = case
    if work.kind is not WorkKind.TASK:
        return
    settled = settle(plan, work, replace(outcome, rivals=tuple(rivals)), policy)
    for task in plan:
        after = settled.find(task.id)
        if task.state is TaskState.PASSED:
            assert after and after.state is TaskState.PASSED
            assert after.result == task.result or task.result is None
