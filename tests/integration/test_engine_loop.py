"""The loop, in this process: what it starts, what it waits for, and why it ends; nothing here really waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ralph.engine.agent_limits import FIRST_WAIT, MAX_WAIT, MAX_WAITS
from ralph.engine.loop import mark_begun, work_through
from ralph.errors import RalphError
from ralph.journal.events import AttemptStarted, TaskBlocked, Waited
from ralph.plan.attempt import StepResult
from ralph.plan.model import TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Finished, Verdict
from ralph.steps.base import Context
from ralph.stores import records
from tests.conftest import Project
from tests.integration.engine import Engine, Turn, engine, says, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

LIMITED = says(Verdict.LIMITED, "usage limit")
RED = says(Verdict.FAILED, "red")


def loop(project: Project, turns: dict[str, list[Turn]], *stories: Any, **more: Any) -> tuple[Finished, Engine]:
    """Work a plan through; afterwards no attempt is on record."""
    once, abrupt = more.pop("once", False), more.pop("abrupt", False)
    first: Callable[[Engine], None] = more.pop("first", lambda _: None)

    async def body(made: Engine) -> tuple[Finished, Engine]:
        first(made)
        end = await work_through(made.run, made.slots, once=once, abrupt=abrupt)
        assert records.load(made.run.workspace.records) == []
        return end, made

    done: tuple[Finished, Engine] = engine(project, body, stories=stories or ("One",), turns=turns, **more)
    return done


def started(made: Engine) -> list[tuple[str, int]]:
    return [(event.work, event.attempt) for event in made.told(AttemptStarted)]


def test_stories_are_done_one_after_the_other_and_then_verified(person: Project) -> None:
    turns = {"US-001": [writes(one="1")], "US-002": [writes(two="2")]}
    end, made = loop(person, turns, "One", "Two")

    assert end.ending is Ending.DONE
    assert started(made) == [("US-001", 1), ("US-002", 1), ("final", 1)]
    assert (person.landed("one.txt"), person.landed("two.txt")) == ("1", "2")
    assert person.plan_at("ralph/auth")["run"]["currentStoryId"] is None


def test_what_fails_is_tried_again_from_its_own_work_until_it_is_blocked(person: Project) -> None:
    turns = {"US-001": [writes(one="1", bad="x"), RED]}
    end, made = loop(person, turns, "One", {"title": "Two", "dependsOn": ["US-001"]}, gate="! test -e bad.txt")

    assert end.ending is Ending.BLOCKED
    assert started(made) == [("US-001", number + 1) for number in range(made.run.config.max_retries)]
    assert made.task().state is TaskState.BLOCKED
    assert [event.work for event in made.told(TaskBlocked)] == ["US-001"]
    assert "bad.txt" in person.files_in("refs/ralph/attempts/auth/US-001/1"), "what was refused is kept"
    assert person.plan_at("ralph/auth")["userStories"][0]["passes"] is False


def test_the_next_attempt_finds_what_the_last_one_made(person: Project) -> None:
    async def goes_on(context: Context) -> StepResult:
        assert (context.cwd / "bad.txt").read_text() == "x"
        (context.cwd / "bad.txt").unlink()
        return await writes(two="2")(context)

    end, _ = loop(person, {"US-001": [writes(one="1", bad="x"), goes_on]}, gate="! test -e bad.txt")

    assert end.ending is Ending.DONE
    assert {"one.txt", "two.txt"} <= set(person.files_in("ralph/auth"))
    assert "bad.txt" not in person.files_in("ralph/auth")


def test_a_limit_is_waited_for_longer_each_time_and_costs_nothing(person: Project) -> None:
    end, made = loop(person, {"US-001": [LIMITED, LIMITED, LIMITED, writes(one="1")]})

    assert end.ending is Ending.DONE
    assert made.slept == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert [event.seconds for event in made.told(Waited)] == made.slept
    assert made.task().failures == 0


def test_a_limit_that_says_when_it_ends_is_waited_for_until_then(person: Project) -> None:
    end, made = loop(person, {"US-001": [says(Verdict.LIMITED, "limit", retry_at=1500.0), writes(one="1")]})

    assert (end.ending, made.slept) == (Ending.DONE, [500.0])


def test_a_clock_that_is_set_back_prolongs_no_wait_and_makes_no_time_negative(person: Project) -> None:
    def set_back(made: Engine) -> None:
        """At the end of the first wait, by five days."""

        def clock() -> float:
            return sum(made.slept) - 432_000.0 if made.slept else 1000.0

        made.run.clock = made.run.limits.clock = clock

    limited = says(Verdict.LIMITED, "limit", retry_at=1060.0)
    end, made = loop(person, {"US-001": [limited, writes(one="1")]}, first=set_back)

    assert (end.ending, made.slept) == (Ending.DONE, [60.0])
    assert made.task().seconds == 60.0, "the plan could not be read again otherwise"


def test_a_limit_that_never_ends_ends_the_run(person: Project) -> None:
    end, made = loop(person, {"US-001": [LIMITED]})

    assert end == Finished(ending=Ending.LIMITED, reason="usage limit")
    assert len(made.slept) == MAX_WAITS and max(made.slept) == MAX_WAIT
    assert (made.task().state, made.task().failures) == (TaskState.PENDING, 0)


def test_side_by_side_a_limit_that_all_meet_is_waited_for_once(person: Project) -> None:
    """All wait at the same time; what had begun before that and meets it later adds no wait."""
    met = asyncio.Barrier(3)

    async def limited(context: Context) -> StepResult:
        await met.wait()
        return await LIMITED(context)

    turns = {f"US-00{n}": [limited, writes(**{f"file{n}": "x"})] for n in (1, 2, 3)}
    end, made = loop(person, turns, "One", "Two", "Three", jobs=3)

    assert end.ending is Ending.DONE
    assert [event.seconds for event in made.told(Waited)] == [FIRST_WAIT]


TWO_AGENTS = {
    "providers": {"second": {"command": "second"}},
    "roles": {"executor": {"providers": ["default", "second"]}},
}


def plays(agents: list[str], **failures: StepResult) -> Turn:
    """A turn that writes down which agent plays it; the named agents fail at first, as said."""

    async def turn(context: Context) -> StepResult:
        name = context.host.agent(context.agents(context.work.role)).name
        agents.append(name)
        if name in failures:
            return replace(failures.pop(name), agent=name)
        return replace(await writes(**{context.work.id: "x"})(context), agent=name)

    return turn


def test_while_one_agent_is_limited_the_next_one_works_and_gives_back(person: Project) -> None:
    agents: list[str] = []
    limit = StepResult(step="played", verdict=Verdict.LIMITED, reason="limit", retry_at=1500.0)
    turn = plays(agents, nobody=limit)

    async def later(context: Context) -> StepResult:
        await context.host.run.sleep(600.0)  # type: ignore[attr-defined]
        return await turn(context)

    turns = {"US-001": [turn], "US-002": [later], "US-003": [turn]}
    end, made = loop(person, turns, "One", "Two", "Three", **TWO_AGENTS)

    assert end.ending is Ending.DONE
    assert agents == ["nobody", "second", "nobody", "nobody"], "the second takes over, then the first is back"
    assert made.told(Waited) == []
    assert [made.task(name).failures for name in ("US-001", "US-002", "US-003")] == [0, 0, 0]
    assert [event.attempt for event in made.told(AttemptStarted) if event.work == "US-001"] == [1]


def test_if_an_agent_cannot_be_used_another_one_works_and_the_person_is_told(person: Project) -> None:
    agents: list[str] = []
    stop = StepResult(step="played", verdict=Verdict.INTERRUPTED, reason="The key was refused.", fatal=True)
    end, made = loop(person, {"US-001": [plays(agents, nobody=stop)]}, **TWO_AGENTS)

    assert (end.ending, agents) == (Ending.DONE, ["nobody", "second"])
    assert "The key was refused. Ralph does not use nobody again in this run." in made.notes


def test_if_no_agent_can_be_used_the_run_stops(person: Project) -> None:
    agents: list[str] = []
    stop = StepResult(step="played", verdict=Verdict.INTERRUPTED, reason="The key was refused.", fatal=True)
    end, _ = loop(person, {"US-001": [plays(agents, nobody=stop, second=stop)]}, **TWO_AGENTS)

    assert (end, agents) == (Finished(ending=Ending.STOPPED, reason="The key was refused."), ["nobody", "second"])


def test_without_waiting_a_limit_ends_the_run_and_costs_nothing(person: Project) -> None:
    def impatient(made: Engine) -> None:
        made.run.limits.waits = False

    end, made = loop(person, {"US-001": [LIMITED]}, first=impatient)

    assert end == Finished(ending=Ending.LIMITED, reason="usage limit")
    assert (made.slept, made.task().failures) == ([], 0)


def test_when_the_budget_is_used_up_what_runs_ends_and_nothing_more_begins(person: Project) -> None:
    turns = {name: [writes(**{name: "x"})] for name in ("US-001", "US-002", "US-003")}
    end, made = loop(person, turns, "One", "Two", "Three", budget={"attempts": 2})

    assert end == Finished(ending=Ending.BUDGET, reason="The budget of this run is used up: 2 of 2 attempts.")
    assert [made.task(name).state for name in turns] == [TaskState.PASSED, TaskState.PASSED, TaskState.PENDING]


def test_attempts_beside_one_another_never_exceed_a_budget_of_attempts(person: Project) -> None:
    turns = {f"US-00{number}": [writes(**{f"file{number}": "x"})] for number in range(1, 6)}
    stories = ("One", "Two", "Three", "Four", "Five")
    end, made = loop(person, turns, *stories, jobs=4, budget={"attempts": 3})

    assert end == Finished(ending=Ending.BUDGET, reason="The budget of this run is used up: 3 of 3 attempts.")
    assert len(started(made)) == 3


def test_a_task_over_its_budget_is_left_and_the_others_go_on(person: Project) -> None:
    end, made = loop(
        person, {"US-001": [RED], "US-002": [writes(two="2")]}, "One", "Two", budget={"task": {"attempts": 2}}
    )

    assert end == Finished(ending=Ending.BUDGET, reason="The budget of US-001 is used up: 2 of 2 attempts.")
    assert started(made) == [("US-001", 1), ("US-001", 2), ("US-002", 1)]
    assert (made.task().state, made.task("US-002").state) == (TaskState.PENDING, TaskState.PASSED)


def test_a_hard_budget_ends_a_running_call_and_costs_no_retry(person: Project) -> None:
    async def runaway(context: Context) -> StepResult:
        context.host.meter(context.work.id, context.attempt.number, Usage(calls=1, output_tokens=5000))
        await asyncio.sleep(60)
        raise AssertionError("nothing ended it")

    end, made = loop(person, {"US-001": [runaway]}, budget={"tokens": 1000, "hard": True})

    assert end == Finished(ending=Ending.BUDGET, reason="The budget of this run is used up: 5,000 of 1,000 tokens.")
    assert (made.task().state, made.task().failures) == (TaskState.PENDING, 0)


def test_no_more_work_at_a_time_than_there_are_slots_and_the_final_verification_last(person: Project) -> None:
    now: set[str] = set()
    most: list[int] = []

    def counted(name: str) -> Turn:
        async def turn(context: Context) -> StepResult:
            now.add(context.work.id)
            most.append(len(now))
            for _ in range(20):
                await asyncio.sleep(0)
            result = await writes(**{name: "x"})(context)
            now.discard(context.work.id)
            return result

        return turn

    turns = {f"US-00{n}": [counted(f"file{n}")] for n in (1, 2, 3, 4)}
    end, made = loop(person, turns, "One", "Two", "Three", "Four", jobs=2)

    assert end.ending is Ending.DONE
    assert max(most) == 2
    assert started(made)[-1] == ("final", 1)
    assert len(person.git("log", "--format=%H", "--grep=^Ralph-Attempt: ", "ralph/auth").splitlines()) == 4


def test_once_makes_one_attempt_however_many_slots_there_are(person: Project) -> None:
    end, made = loop(person, {"US-001": [writes(one="1")]}, "One", "Two", jobs=2, once=True)

    assert end == Finished(ending=Ending.ONCE, reason="passed")
    assert started(made) == [("US-001", 1)]


def test_once_does_not_count_a_limit(person: Project) -> None:
    end, made = loop(person, {"US-001": [LIMITED, RED]}, once=True)

    assert end == Finished(ending=Ending.ONCE, reason="failed")
    assert made.slept == [FIRST_WAIT]


def test_what_nothing_can_succeed_without_stops_the_run_at_once(person: Project) -> None:
    end, made = loop(person, {"US-001": [says(Verdict.FAILED, "no login", fatal=True)]}, "One", "Two")

    assert end == Finished(ending=Ending.STOPPED, reason="no login")
    assert started(made) == [("US-001", 1)]


@pytest.mark.parametrize("keep_going", [False, True])
def test_a_gate_that_cannot_run_at_all_stops_the_run_at_the_second_task(person: Project, keep_going: bool) -> None:
    turns = {"US-001": [writes(one="1")], "US-002": [writes(two="2")]}

    async def body(made: Engine) -> Finished:
        made.run.keep_going = keep_going
        return await work_through(made.run, made.slots)

    end = engine(person, body, stories=("One", "Two"), turns=turns, gate="no-such-program", maxRetries=1)

    assert end.ending is Ending.BLOCKED
    assert ("cannot run" in end.reason and "US-001 and US-002" in end.reason) is not keep_going


def test_interrupted_the_attempt_ends_and_nothing_is_charged(person: Project) -> None:
    async def body(made: Engine) -> None:
        async def stopped(context: Context) -> StepResult:
            made.run.interrupt.request()
            await asyncio.Event().wait()
            raise AssertionError("it never comes")

        turns["US-001"] = [stopped]
        end = await work_through(made.run, made.slots)

        assert end.ending is Ending.INTERRUPTED
        assert (made.task().state, made.task().failures) == (TaskState.PENDING, 0)
        assert records.load(made.run.workspace.records) == []

    turns: dict[str, list[Turn]] = {}
    engine(person, body, turns=turns)


def test_an_error_in_one_attempt_ends_the_others_and_is_the_one_that_is_told(person: Project) -> None:
    others: list[str] = []

    begun = asyncio.Event()

    async def waits(context: Context) -> StepResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            others.append(context.work.id)
        raise AssertionError("it never comes")

    async def body(made: Engine) -> None:
        async def breaks(context: Context) -> StepResult:
            await begun.wait()
            raise RalphError("The disk is full.")

        turns["US-002"] = [breaks]
        with pytest.raises(RalphError, match=r"The disk is full\."):
            await work_through(made.run, made.slots)

    turns: dict[str, list[Turn]] = {"US-001": [waits]}
    engine(person, body, stories=("One", "Two"), turns=turns, jobs=2)

    assert others == ["US-001"]


def test_no_crash_copy_is_made_while_the_plan_is_ahead_of_the_branch(person: Project) -> None:
    """Otherwise a kill at that moment would leave a task that has passed, without its work."""

    async def body(made: Engine) -> tuple[bool, bool]:
        async with made.run.ahead:
            beginning = asyncio.create_task(mark_begun(made.run, made.work("US-002"), "A note."))
            await asyncio.sleep(0)
            early = made.task("US-002").notes == ""
        await beginning
        return early, made.task("US-002").notes == "A note."

    assert engine(person, body, stories=("One", "Two"), jobs=2) == (True, True)
