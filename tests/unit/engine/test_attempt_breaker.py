"""The one wrapper around every step: retries, circuit breaker, time limit, interrupt; nothing here really waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph import config
from ralph.engine.agent_limits import FIRST_WAIT
from ralph.engine.attempt import perform, run_attempt
from ralph.engine.host import LocalHost
from ralph.engine.loop import attempt_of
from ralph.engine.run import Run
from ralph.engine.verdict import conclude
from ralph.errors import RalphError
from ralph.journal.events import BreakerChanged, Event, StepRetried, StepStarted
from ralph.journal.writer import Journal
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import Plan, Task
from ralph.plan.work import Resilience, StepSpec, Usage, Verdict, Work, WorkKind
from ralph.steps import pipeline
from ralph.steps.base import Context, Step
from ralph.steps.git_commit import GitCommitStep
from ralph.stores import records
from ralph.stores.lock import Owner
from ralph.workflows.requirements.workflow import RequirementsWorkflow
from ralph.workspace import Workspace
from tests.unit.engine.conftest import Install

PLAN = Plan(target="requirements", tasks=(Task(id="T-001", title="One"),))
RECORD = Record(
    run="r1", target="requirements", kind=WorkKind.TASK, work="T-001", number=4, base="b", branch="main", began=0.0
)


class Bench:
    """A run that heard everything, whose clock moves only while it sleeps."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.folder = folder
        self.now = 1000.0
        self.slept: list[float] = []
        self.heard: list[Event] = []
        journal.listen(lambda event, _: self.heard.append(event))
        workspace = Workspace(root=folder)
        settings = config.parse(b'{"provider": {"command": "nobody"}, "verify": {"default": []}}')
        steps = pipeline.parse(b'{"steps": [{"type": "agent"}]}', name="default.json", variables={})
        self.run = Run(
            id="r1",
            workspace=workspace,
            config=settings,
            workflow=RequirementsWorkflow(workspace, settings, steps, folder),
            plan=PLAN,
            journal=journal,
            owner=Owner(pid=1, run="r1"),
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        self.run.limits.waits = False  # a step that must wait says so at once

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def perform(self, step: Step) -> StepResult:
        work = Work(kind=WorkKind.TASK, id="T-001", title="One", steps=(step.spec,))
        host = LocalHost(run=self.run)
        context = Context(attempt=attempt_of(self.run, work, RECORD), host=host, record=RECORD)
        return asyncio.run(perform(step, host, context))

    def attempt(self, *specs: StepSpec, record: Record = RECORD) -> Record:
        work = Work(kind=WorkKind.TASK, id="T-001", title="One", steps=specs)
        return asyncio.run(run_attempt(attempt_of(self.run, work, record), LocalHost(run=self.run), record))

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kind)]


@pytest.fixture
def bench(folder: Path) -> Iterator[Bench]:
    with Journal(folder / "logs") as journal:
        yield Bench(folder, journal)


class Does(Step):
    """Comes to one result after the other, and to the last one from then on; an error is raised."""

    def __init__(self, *results: StepResult | Exception | Callable[[], Awaitable[StepResult]], **more: Any) -> None:
        super().__init__(StepSpec(type="does", name=more.pop("name", ""), resilience=Resilience(**more)))
        self.results = list(results)
        self.turns: list[int] = []

    async def run(self, context: Context) -> StepResult:
        result = self.results[min(len(self.turns), len(self.results) - 1)]
        self.turns.append(context.turn)
        if isinstance(result, Exception):
            raise result
        return result if isinstance(result, StepResult) else await result()


def comes_to(verdict: Verdict, reason: str = "", **more: Any) -> StepResult:
    return StepResult(step="does", verdict=verdict, reason=reason, **more)


GOOD, BAD = comes_to(Verdict.PASSED), comes_to(Verdict.FAILED, "bad")
NOT_FAILED = [verdict for verdict in Verdict if verdict is not Verdict.FAILED]


# retries


def test_a_step_that_fails_is_tried_again_after_its_delay(bench: Bench) -> None:
    step = Does(comes_to(Verdict.FAILED, "one"), comes_to(Verdict.FAILED, "two"), GOOD, max_retries=3, retry_delay=30)
    assert bench.perform(step).verdict is Verdict.PASSED
    assert step.turns == [1, 2, 3]
    assert bench.slept == [30, 30]
    assert bench.told(StepRetried) == [
        StepRetried(work="T-001", attempt=4, step="does", reason="one", delay=30),
        StepRetried(work="T-001", attempt=4, step="does", reason="two", delay=30),
    ]


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_it_is_tried_no_more_often_than_allowed(bench: Bench, retries: int) -> None:
    step = Does(BAD, max_retries=retries, retry_delay=5)
    assert bench.perform(step) == BAD
    assert step.turns == list(range(1, retries + 2))
    assert bench.slept == [5] * retries


@pytest.mark.parametrize("verdict", NOT_FAILED)
def test_only_a_failure_is_tried_again(bench: Bench, verdict: Verdict) -> None:
    step = Does(comes_to(verdict), max_retries=5, retry_delay=5)
    assert bench.perform(step).verdict is verdict
    assert (step.turns, bench.slept) == ([1], [])


def test_what_every_try_used_is_added_up(bench: Bench) -> None:
    used = [
        Usage(calls=1, input_tokens=10, cost_usd=0.5),
        Usage(calls=1, unpriced=1),
        Usage(calls=1, input_tokens=5, cost_usd=0.25, estimated=1),
    ]
    results = [replace(BAD, usage=usage) for usage in used[:2]] + [replace(GOOD, usage=used[2])]
    result = bench.perform(Does(*results, max_retries=2))
    assert result.usage == Usage(calls=3, input_tokens=15, cost_usd=0.75, unpriced=1, estimated=1)


def test_what_was_learned_in_a_try_that_failed_is_not_lost(bench: Bench) -> None:
    step = Does(replace(BAD, learnings=("one",)), replace(GOOD, learnings=("two",)), max_retries=1)
    assert bench.perform(step).learnings == ("one", "two")


def test_a_person_who_interrupts_the_wait_ends_the_step_and_pays_only_for_what_was_used(bench: Bench) -> None:
    async def interrupted(_: float) -> None:
        bench.run.interrupt.request()
        await asyncio.Event().wait()

    bench.run.sleep = interrupted
    step = Does(replace(BAD, usage=Usage(calls=1)), max_retries=3, retry_delay=30)
    result = bench.perform(step)
    assert (result.verdict, result.usage.calls) == (Verdict.INTERRUPTED, 1)
    assert step.turns == [1]


def test_a_person_who_interrupts_the_step_itself_ends_it(bench: Bench) -> None:
    async def interrupted() -> StepResult:
        bench.run.interrupt.request()
        await asyncio.Event().wait()
        raise AssertionError("never reached")

    step = Does(interrupted, max_retries=3, breaker_threshold=1)
    assert bench.perform(step).verdict is Verdict.INTERRUPTED
    assert step.turns == [1]
    assert bench.told(BreakerChanged) == []


# the circuit breaker


def test_an_open_breaker_leaves_the_step_alone_and_says_when_to_come_again(bench: Bench) -> None:
    step = Does(BAD, breaker_threshold=2, breaker_reset=60)
    assert bench.perform(step) == bench.perform(step) == BAD
    bench.now += 10
    left_out = bench.perform(step)
    assert (left_out.step, left_out.verdict, left_out.retry_at) == ("does", Verdict.LIMITED, 1060)
    assert "'does' failed 2 times in a row" in left_out.reason
    assert len(step.turns) == 2


def test_a_step_that_may_fail_is_passed_over_while_its_breaker_is_open(bench: Bench) -> None:
    step = Does(BAD, breaker_threshold=1, continue_on_error=True)
    bench.perform(step)
    assert bench.perform(step).verdict is Verdict.FAILED
    assert len(step.turns) == 1


def test_who_comes_again_at_that_time_is_let_through_and_one_success_closes_the_breaker(bench: Bench) -> None:
    step = Does(BAD, GOOD, BAD, breaker_threshold=1, breaker_reset=60)
    bench.perform(step)
    again = bench.perform(step).retry_at
    assert again is not None
    bench.now = again
    assert bench.perform(step) == GOOD
    assert bench.perform(step) == BAD
    assert [event.state for event in bench.told(BreakerChanged)] == ["open", "closed", "open"]


def test_a_try_that_fails_opens_the_breaker_again_for_the_whole_time(bench: Bench) -> None:
    step = Does(BAD, breaker_threshold=3, breaker_reset=60)
    for _ in range(3):
        bench.perform(step)
    bench.now += 100
    assert bench.perform(step) == BAD
    assert bench.perform(step).retry_at == bench.now + 60
    assert len(step.turns) == 4


def test_a_breaker_that_changes_says_so_once_and_until_when(bench: Bench) -> None:
    step = Does(BAD, BAD, BAD, GOOD, breaker_threshold=2, breaker_reset=60)
    for _ in range(4):
        bench.perform(step)  # the last two are left out
    assert bench.told(BreakerChanged) == [BreakerChanged(step="does", state="open", failures=2, until=1060)]
    bench.now = 1060
    bench.perform(step)
    bench.now = 1120
    bench.perform(step)
    assert bench.told(BreakerChanged)[1:] == [
        BreakerChanged(step="does", state="open", failures=3, until=1120),
        BreakerChanged(step="does", state="closed", failures=0, until=None),
    ]


def test_retries_count_and_end_when_the_breaker_opens(bench: Bench) -> None:
    step = Does(BAD, max_retries=9, retry_delay=1, breaker_threshold=3, breaker_reset=60)
    assert bench.perform(step) == BAD
    assert step.turns == [1, 2, 3]
    assert bench.slept == [1, 1]
    assert bench.perform(step).verdict is Verdict.LIMITED


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.UNFINISHED, Verdict.BLOCKED])
def test_a_step_that_did_its_job_begins_the_count_anew(bench: Bench, verdict: Verdict) -> None:
    step = Does(BAD, comes_to(verdict), BAD, breaker_threshold=2)
    for _ in range(3):
        bench.perform(step)
    assert bench.told(BreakerChanged) == []


@pytest.mark.parametrize("verdict", [Verdict.LIMITED, Verdict.INTERRUPTED])
def test_a_step_that_was_cut_short_counts_neither_way(bench: Bench, verdict: Verdict) -> None:
    step = Does(BAD, comes_to(verdict), BAD, breaker_threshold=2)
    for _ in range(3):
        bench.perform(step)
        bench.now += FIRST_WAIT * 2  # a limit has passed
    assert [event.failures for event in bench.told(BreakerChanged)] == [2]


def test_without_a_breaker_a_step_may_fail_for_ever(bench: Bench) -> None:
    step = Does(BAD)
    for _ in range(20):
        assert bench.perform(step) == BAD
    assert bench.told(BreakerChanged) == []


def test_a_breaker_is_one_steps_own_and_outlives_an_attempt(bench: Bench) -> None:
    first, second = Does(BAD, name="first", breaker_threshold=1), Does(BAD, name="second", breaker_threshold=1)
    bench.perform(first)
    assert bench.perform(second).verdict is Verdict.FAILED
    assert bench.perform(Does(GOOD, name="first", breaker_threshold=1)).verdict is Verdict.LIMITED


# time limits


async def for_ever() -> StepResult:
    await asyncio.Event().wait()
    raise AssertionError("never reached")


async def longer_than_allowed() -> StepResult:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return replace(GOOD, usage=Usage(calls=1))
    raise AssertionError("never reached")


def test_a_step_that_takes_too_long_has_failed_and_that_counts(bench: Bench) -> None:
    step = Does(for_ever, timeout=0.001, breaker_threshold=1)
    result = bench.perform(step)
    assert (result.verdict, result.reason) == (Verdict.FAILED, "The step 'does' did not finish within 0.001 s.")
    assert [event.state for event in bench.told(BreakerChanged)] == ["open"]


def test_a_step_that_took_too_long_has_failed_even_if_it_says_otherwise(bench: Bench) -> None:
    result = bench.perform(Does(longer_than_allowed, timeout=0.001))
    assert (result.verdict, result.usage.calls) == (Verdict.FAILED, 1)


# errors


def test_another_packages_step_that_breaks_has_failed_and_says_how(bench: Bench) -> None:
    result = bench.perform(Does(LookupError("nobody thought of this")))
    assert result.verdict is Verdict.FAILED
    assert result.reason == "The step 'does' crashed: LookupError: nobody thought of this"


def test_another_packages_step_that_breaks_is_tried_again_and_counted_like_any_other(bench: Bench) -> None:
    step = Does(ValueError("x"), max_retries=5, breaker_threshold=2)
    assert bench.perform(step).verdict is Verdict.FAILED
    assert step.turns == [1, 2]
    assert [event.state for event in bench.told(BreakerChanged)] == ["open"]


def test_an_error_that_a_person_can_mend_is_not_hidden(bench: Bench) -> None:
    with pytest.raises(RalphError, match="the disk is full"):
        bench.perform(Does(RalphError("the disk is full"), max_retries=5))


def test_a_mistake_in_a_step_of_our_own_is_not_hidden(bench: Bench) -> None:
    with pytest.raises(AssertionError, match="work that commits has a working copy"):
        bench.perform(GitCommitStep(StepSpec(type="git-commit", resilience=Resilience(max_retries=5))))
    assert bench.told(StepRetried) == []


# whole attempts

README = StepSpec(type="readme-check", resilience=Resilience(breaker_threshold=1, breaker_reset=60))
TOLERATED = replace(README, resilience=replace(README.resilience, continue_on_error=True))
NOOP = StepSpec(type="noop")


def test_an_attempt_ends_with_its_first_step_that_fails(bench: Bench) -> None:
    record = bench.attempt(NOOP, README, replace(NOOP, name="later"))
    assert [(result.step, result.verdict) for result in record.steps] == [
        ("noop", Verdict.PASSED),
        ("readme-check", Verdict.FAILED),
    ]
    assert [event.step for event in bench.told(StepStarted)] == ["noop", "readme-check"]


def test_an_attempt_whose_step_is_left_alone_comes_again_when_that_is_over(bench: Bench) -> None:
    bench.attempt(README, NOOP)
    record = bench.attempt(README, NOOP)
    assert [(result.step, result.verdict) for result in record.steps] == [("readme-check", Verdict.LIMITED)]
    outcome = conclude(PLAN, Work(kind=WorkKind.TASK, id="T-001", title="One", steps=(README, NOOP)), record, "now")
    assert (outcome.verdict, outcome.retry_at) == (Verdict.LIMITED, 1060)
    (bench.folder / "README.md").write_text("A project\n")
    assert bench.attempt(README, NOOP).steps[0].verdict is Verdict.LIMITED
    bench.now = 1060
    assert [result.verdict for result in bench.attempt(README, NOOP).steps] == [Verdict.PASSED] * 2


def test_an_attempt_goes_on_past_a_step_that_may_fail_whether_its_breaker_is_open_or_not(bench: Bench) -> None:
    for _ in range(2):
        record = bench.attempt(TOLERATED, NOOP)
        assert [(result.step, result.verdict) for result in record.steps] == [
            ("readme-check", Verdict.FAILED),
            ("noop", Verdict.PASSED),
        ]
    assert bench.run.breakers["readme-check"].failures == 1
    work = Work(kind=WorkKind.TASK, id="T-001", title="One", steps=(TOLERATED, NOOP))
    assert conclude(PLAN, work, record, "now").verdict is Verdict.PASSED


def test_a_step_that_was_made_before_a_crash_is_not_made_again(bench: Bench) -> None:
    done = StepResult(step="readme-check", verdict=Verdict.PASSED, summary="before the crash")
    record = bench.attempt(README, NOOP, record=RECORD.add(done))
    assert record.steps[0] == done
    assert [event.step for event in bench.told(StepStarted)] == ["noop"]


def test_a_step_of_another_package_works_like_any_other(bench: Bench, install: Install) -> None:
    install({"shout": "Shout"})
    content = b'{"steps": [{"type": "agent"}, {"type": "shout", "config": {"text": "hi", "times": 2}}]}'
    spec = pipeline.parse(content, name="x.json", variables={}).each[-2]
    record = bench.attempt(spec, StepSpec(type="shout", name="again"))
    assert [(result.step, result.verdict) for result in record.steps] == [
        ("shout", Verdict.PASSED),
        ("again", Verdict.PASSED),
    ]
    assert (bench.folder / "shout.txt").read_text() == "HELLO"
    assert records.load(bench.run.workspace.records, "requirements") == [record]


def test_a_step_of_another_package_that_breaks_ends_the_attempt_and_not_the_run(bench: Bench, install: Install) -> None:
    install({"broken": "Broken"})
    record = bench.attempt(StepSpec(type="broken"), NOOP)
    assert [(result.step, result.verdict) for result in record.steps] == [("broken", Verdict.FAILED)]
    assert "LookupError: nobody thought of this" in record.steps[0].reason
    assert records.load(bench.run.workspace.records, "requirements") == [record]
