"""What an attempt came to, from what its steps came to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.verdict import conclude
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import GateResult, Plan, Spec, Task, TaskResult, TaskState
from ralph.plan.work import Outcome, Resilience, StepSpec, Usage, Verdict, Work, WorkKind

PLAN = Plan(target="auth", tasks=(Task(id="US-1", title="One"), Task(id="US-2", title="Two")))
STORY = Work(
    kind=WorkKind.TASK,
    id="US-1",
    title="One",
    steps=(
        StepSpec(type="agent"),
        StepSpec(type="verify"),
        StepSpec(type="lint", resilience=Resilience(continue_on_error=True)),
        StepSpec(type="git-commit"),
    ),
)
FINAL = Work(
    kind=WorkKind.REVIEW,
    id="final",
    title="Final",
    steps=(StepSpec(type="verify", resilience=Resilience(continue_on_error=True)), StepSpec(type="agent")),
)
GREEN = GateResult(name="test", command="make test", passed=True, seconds=1)
RED = GateResult(name="lint", command="make lint", passed=False, seconds=1, reason="exit code 1")
OPTIONAL = GateResult(name="style", command="make style", passed=False, seconds=1, required=False)


def record(*steps: StepResult, kind: WorkKind = WorkKind.TASK) -> Record:
    return Record(
        run="r", target="auth", kind=kind, work="US-1", number=3, base="base0", branch="b", began=0.0, steps=steps
    )


def step(name: str, verdict: Verdict = Verdict.PASSED, **more: Any) -> StepResult:
    return StepResult(step=name, verdict=verdict, **more)


def story(*steps: StepResult) -> Outcome:
    return conclude(PLAN, STORY, record(*steps), "now")


def review(*claims: str, gates: tuple[GateResult, ...] = (GREEN,), **more: Any) -> Outcome:
    suite = step("verify", Verdict.PASSED if all(g.passed for g in gates) else Verdict.FAILED, gates=gates)
    agent = step("agent", **{"claims": frozenset(claims), **more})
    return conclude(PLAN, FINAL, record(suite, agent, kind=WorkKind.REVIEW), "now")


def test_a_story_passes_when_each_of_its_steps_did() -> None:
    assert story(step("agent"), step("verify", gates=(GREEN,)), step("git-commit")).verdict is Verdict.PASSED


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.BLOCKED, Verdict.LIMITED, Verdict.INTERRUPTED])
def test_a_story_comes_to_what_its_first_bad_step_came_to(verdict: Verdict) -> None:
    outcome = story(step("agent"), step("verify", verdict, reason="no"), step("git-commit", Verdict.FAILED, reason="x"))
    assert (outcome.verdict, outcome.reason) == (verdict, "no")


def test_an_interruption_counts_before_an_earlier_failure() -> None:
    outcome = story(step("agent", Verdict.FAILED, reason="bad"), step("verify", Verdict.INTERRUPTED, reason="Ctrl-C"))
    assert (outcome.verdict, outcome.reason) == (Verdict.INTERRUPTED, "Ctrl-C")


def test_a_step_that_may_fail_does_not_decide() -> None:
    assert story(step("agent"), step("lint", Verdict.FAILED), step("git-commit")).verdict is Verdict.PASSED


def test_an_attempt_without_a_single_step_was_interrupted() -> None:
    outcome = story()
    assert outcome.verdict is Verdict.INTERRUPTED
    assert outcome.reason


def test_a_review_that_verifies_a_green_suite_passes() -> None:
    assert review("VERIFIED").verdict is Verdict.PASSED


def test_sending_a_story_back_counts_before_saying_that_all_is_verified() -> None:
    outcome = review("VERIFIED", "RESET", "REASON", reset=("US-2",), said="no tests")
    assert outcome.verdict is Verdict.REOPENED
    assert outcome.reopened == ("US-2",)
    assert outcome.reason == "no tests"


def test_sending_a_story_back_without_a_reason_is_still_taken() -> None:
    outcome = review("RESET", reset=("US-1",))
    assert outcome.verdict is Verdict.REOPENED
    assert outcome.reason


def test_verified_is_refused_while_the_suite_is_red() -> None:
    outcome = review("VERIFIED", gates=(GREEN, RED))
    assert outcome.verdict is Verdict.FAILED
    assert "make lint" in outcome.reason
    assert "make test" not in outcome.reason


def test_a_story_may_be_sent_back_while_the_suite_is_red() -> None:
    assert review("RESET", reset=("US-1",), gates=(RED,)).verdict is Verdict.REOPENED


def test_a_red_gate_that_is_not_required_does_not_stop_a_review() -> None:
    suite = step("verify", gates=(GREEN, OPTIONAL))
    agent = step("agent", claims=frozenset({"VERIFIED"}))
    assert conclude(PLAN, FINAL, record(suite, agent), "now").verdict is Verdict.PASSED


def test_a_review_that_said_neither_is_not_a_pass() -> None:
    outcome = review(verdict=Verdict.FAILED, reason="The agent ended without saying RESET or VERIFIED.")
    assert outcome.verdict is Verdict.FAILED
    assert "without saying" in outcome.reason


def test_sending_back_only_stories_that_do_not_exist_is_asked_for_again() -> None:
    outcome = review("RESET", "VERIFIED", reset=("US-9", "nope"))
    assert outcome.verdict is Verdict.FAILED
    assert "US-9, nope" in outcome.reason
    assert outcome.reopened == ()


def test_stories_that_do_not_exist_are_left_out_beside_those_that_do() -> None:
    assert review("RESET", reset=("US-9", "US-2")).reopened == ("US-2",)


def test_a_review_stopped_by_a_usage_limit_is_not_a_failure() -> None:
    outcome = review(verdict=Verdict.LIMITED, reason="limit", retry_at=1234.0)
    assert (outcome.verdict, outcome.retry_at) == (Verdict.LIMITED, 1234.0)


@given(
    st.sets(st.sampled_from(["VERIFIED", "RESET", "REASON", "LEARNING", "DONE"])),
    st.lists(st.sampled_from(["US-1", "US-2", "US-9"]), unique=True),
    st.sampled_from(Verdict),
    st.lists(st.sampled_from([GREEN, RED, OPTIONAL]), max_size=3),
)
def test_a_review_passes_only_with_a_green_suite_and_nothing_sent_back(
    claims: set[str], named: list[str], verdict: Verdict, gates: list[GateResult]
) -> None:
    reset = tuple(named) if "RESET" in claims else ()
    outcome = review(*claims, gates=tuple(gates), reset=reset, verdict=verdict)
    if outcome.verdict is Verdict.PASSED:
        assert verdict is Verdict.PASSED
        assert RED not in gates
        assert "RESET" not in claims
    assert set(outcome.reopened) <= {"US-1", "US-2"} & set(reset)
    assert bool(outcome.reopened) <= (outcome.verdict in (Verdict.REOPENED, verdict))


def test_an_outcome_gathers_all_that_the_steps_left() -> None:
    outcome = story(
        step("agent", commit="c1", summary="feat: one", learnings=("a",), usage=Usage(calls=1, cost_usd=0.5)),
        step("verify", gates=(GREEN, RED), learnings=("b",)),
        step("git-commit", commit="c2", summary="later", usage=Usage(calls=1, unpriced=1), fatal=True),
    )
    assert outcome.work_id == "US-1"
    assert outcome.number == 3
    assert outcome.at == "now"
    assert outcome.base == "base0"
    assert outcome.commit == "c2"
    assert outcome.summary == "feat: one"
    assert outcome.gates == (GREEN, RED)
    assert outcome.learnings == ("a", "b")
    assert outcome.usage == Usage(calls=2, cost_usd=0.5, unpriced=1)
    assert outcome.fatal


TOLERANT = Work(
    kind=WorkKind.TASK,
    id="US-1",
    title="One",
    steps=tuple(
        StepSpec(type=name, resilience=Resilience(continue_on_error=True))
        for name in ("agent", "command", "verify", "review", "git-commit")
    ),
)


def tolerant(*steps: StepResult) -> Outcome:
    return conclude(PLAN, TOLERANT, record(*steps), "now")


def test_a_command_that_may_fail_does_not_decide() -> None:
    steps = step("agent"), step("command", Verdict.FAILED, reason="no"), step("verify", gates=(GREEN,))
    outcome = tolerant(*steps, step("git-commit"))
    assert (outcome.verdict, outcome.reason) == (Verdict.PASSED, "")


def test_a_red_gate_counts_even_in_a_step_that_may_fail() -> None:
    verify = step("verify", Verdict.FAILED, reason="make lint is red", gates=(GREEN, RED))
    outcome = tolerant(step("agent"), verify, step("git-commit"))
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, "make lint is red")


def test_a_red_gate_that_is_not_required_does_not_count() -> None:
    assert tolerant(step("agent"), step("verify", gates=(GREEN, OPTIONAL))).verdict is Verdict.PASSED


@pytest.mark.parametrize("verdict", [Verdict.UNFINISHED, Verdict.BLOCKED])
def test_an_agent_that_may_fail_and_did_not_finish_has_not_passed(verdict: Verdict) -> None:
    """Its attempt ends there, so no gate has looked at anything."""
    outcome = tolerant(step("agent", verdict, reason="not yet"))
    assert (outcome.verdict, outcome.reason) == (verdict, "not yet")


@pytest.mark.parametrize("gates", [(), (GREEN,)])
def test_gates_that_were_cut_short_or_left_out_pass_nothing_even_where_they_may_fail(
    gates: tuple[GateResult, ...],
) -> None:
    """A time limit, an open circuit breaker, a service that is not up: the gates have not all said yes."""
    verify = step("verify", Verdict.FAILED, reason="The step 'verify' did not finish within 5 s.", gates=gates)
    outcome = tolerant(step("agent"), verify, step("git-commit"))
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, verify.reason)


@pytest.mark.parametrize("verdict", [Verdict.LIMITED, Verdict.INTERRUPTED])
def test_a_step_that_may_fail_still_leaves_off_when_it_must(verdict: Verdict) -> None:
    outcome = tolerant(step("agent"), step("command", verdict, reason="later", retry_at=9.0))
    assert (outcome.verdict, outcome.reason, outcome.retry_at) == (verdict, "later", 9.0)


@pytest.mark.parametrize("verdict", [Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.FAILED])
def test_a_step_that_runs_once_comes_to_what_its_first_bad_step_came_to(verdict: Verdict) -> None:
    work = Work(kind=WorkKind.SETUP, id="setup", title="s", steps=(StepSpec(type="agent"), StepSpec(type="git-commit")))
    good = record(step("agent"), step("git-commit"), kind=WorkKind.SETUP)
    bad = record(step("agent", verdict, reason="no"), kind=WorkKind.SETUP)
    assert conclude(PLAN, work, good, "now").verdict is Verdict.PASSED
    assert (conclude(PLAN, work, bad, "now").verdict, conclude(PLAN, work, bad, "now").reason) == (verdict, "no")


@given(st.lists(st.booleans(), max_size=4))
def test_an_attempt_changed_something_if_any_of_its_steps_did(changed: list[bool]) -> None:
    steps = [step(f"step{number}", changed=moved) for number, moved in enumerate(changed)]
    assert story(*steps).changed is any(changed)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["agent", "command", "verify", "review", "git-commit"]),
            st.sampled_from(Verdict),
            st.lists(st.sampled_from([GREEN, RED, OPTIONAL]), max_size=2),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda item: item[0],
    ),
    st.sampled_from([STORY, TOLERANT]),
)
def test_no_attempt_with_a_red_gate_ever_passes(steps: list[tuple[str, Verdict, list[GateResult]]], work: Work) -> None:
    """A step with a red gate has never passed itself."""
    made = [
        step(name, Verdict.FAILED if RED in gates and verdict is Verdict.PASSED else verdict, gates=tuple(gates))
        for name, verdict, gates in steps
    ]
    outcome = conclude(PLAN, work, record(*made), "now")
    if any(RED in result.gates for result in made):
        assert outcome.verdict is not Verdict.PASSED


# the end of a spec

SPEC_STEPS = Work(kind=WorkKind.FINISH, id="a", title="A", steps=(StepSpec(type="verify"), StepSpec(type="git-commit")))


def passed(name: str, at: str) -> Task:
    return Task(
        id=name,
        title=name,
        spec="a",
        state=TaskState.PASSED,
        result=TaskResult(completed_at=at, commit="c", summary=""),
    )


def finish(*steps: StepResult, tasks: tuple[Task, ...] = (passed("a-1", "2"), passed("a-2", "1"))) -> Outcome:
    plan = Plan(target="specs", tasks=tasks, specs=(Spec(id="a", name="A"),))
    return conclude(plan, SPEC_STEPS, record(*steps, kind=WorkKind.FINISH), "now")


def test_a_spec_passes_when_its_gates_and_its_commit_did() -> None:
    outcome = finish(step("verify", gates=(GREEN,)), step("git-commit", commit="c1", summary="feat: A"))
    assert (outcome.verdict, outcome.commit, outcome.summary, outcome.reopened) == (
        Verdict.PASSED, "c1", "feat: A", (),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["verify", "git-commit"])
def test_a_spec_that_is_red_or_refused_has_failed_and_sends_no_task_back(name: str) -> None:
    outcome = finish(step(name, Verdict.FAILED, reason="no"))
    assert (outcome.verdict, outcome.reason, outcome.reopened) == (Verdict.FAILED, "no", ())


@pytest.mark.parametrize("verdict", [Verdict.LIMITED, Verdict.INTERRUPTED])
def test_a_spec_whose_end_was_cut_short_is_sent_back_to_nobody(verdict: Verdict) -> None:
    assert (finish(step("verify", verdict)).verdict, finish(step("verify", verdict)).reopened) == (verdict, ())


def test_an_outcome_tells_which_files_changed_and_which_tree_the_gates_approved() -> None:
    made = record(step("agent", touched=("a.txt", "…")), step("verify", verified_tree="t1"), step("git-commit"))
    outcome = conclude(PLAN, STORY, made, "now", 12.5)
    assert (outcome.base, outcome.touched, outcome.seconds) == (made.base, ("a.txt", "…"), 12.5)
    assert outcome.verified_tree == "t1"
