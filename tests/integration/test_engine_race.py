"""Races, in this process: several agents attempt a task, one lands, and nothing of the others is lost or charged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ralph.engine.loop import work_through
from ralph.engine.recovery import recover, rescue
from ralph.journal.events import AttemptEnded, AttemptStarted, Landed, Waited
from ralph.plan.attempt import StepResult
from ralph.plan.instruction import Command, Instruction
from ralph.plan.model import NeedKind, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Finished, Verdict
from ralph.steps.base import Context
from ralph.stores import instructions, records
from tests.conftest import Project
from tests.integration.engine import Engine, Turn, engine, says, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

PROVIDERS = {"one": {"command": "one"}, "two": {"command": "two"}}
RACE = {"providers": PROVIDERS, "race": {"agents": ["one", "two"]}}
RED = says(Verdict.FAILED, "red")


def plays(**turns: Turn) -> Turn:
    """A turn that each agent plays in its own way."""

    async def turn(context: Context) -> StepResult:
        name = context.host.agent(context.agents(context.work.role)).name
        return replace(await turns[name](context), agent=name)

    return turn


async def until(condition: Callable[[], object]) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


async def waits(context: Context) -> StepResult:
    """Work for ever, as an agent does that is stopped: what it made is taken."""
    assert context.copy
    (context.cwd / "half.txt").write_text("half")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        taken = await context.copy.take(context.base, "half")
        return StepResult(step="played", verdict=Verdict.INTERRUPTED, commit=taken.commit, usage=Usage(calls=1))
    raise AssertionError("it never comes")


def race(project: Project, *turns: Turn, **more: Any) -> tuple[Finished, Engine]:
    """Work a plan of one story through; afterwards no attempt is on record."""
    first: Callable[[Engine], None] = more.pop("first", lambda _: None)
    once = more.pop("once", False)

    async def body(made: Engine) -> tuple[Finished, Engine]:
        first(made)
        end = await work_through(made.run, made.slots, once=once)
        assert records.load(made.run.workspace.records) == []
        assert made.task().racing == ()
        return end, made

    done: tuple[Finished, Engine] = engine(project, body, turns={"US-001": list(turns)}, **{**RACE, **more})
    return done


def ended(made: Engine) -> dict[int, tuple[str, Verdict]]:
    return {event.attempt: (event.agent, event.verdict) for event in made.told(AttemptEnded) if event.work == "US-001"}


def started(made: Engine) -> list[tuple[int, str]]:
    """Whoever is ready first begins; numbers are given before that."""
    return sorted((event.attempt, event.agent) for event in made.told(AttemptStarted) if event.work == "US-001")


def landings(project: Project) -> list[str]:
    lines = project.git("log", "--format=%B", "ralph/auth").splitlines()
    return [line for line in lines if line.startswith("Ralph-Attempt: ")]


def test_the_first_that_passes_lands_and_the_others_are_stopped_and_kept(person: Project) -> None:
    end, made = race(person, plays(one=waits, two=writes(two="2")))

    assert end.ending is Ending.DONE
    assert ended(made) == {1: ("one", Verdict.INTERRUPTED), 2: ("two", Verdict.PASSED)}
    lost = next(event for event in made.told(AttemptEnded) if event.attempt == 1)
    assert lost.reason == "The work of two landed first."
    assert person.landed("half.txt", "refs/ralph/attempts/auth/US-001/1") == "half"
    assert landings(person) == ["Ralph-Attempt: auth/US-001/2"]
    story = person.plan_at("ralph/auth")["userStories"][0]
    assert (story["passes"], story["lastResult"]["agent"], story["retries"]) == (True, "two", 0)
    assert (made.task().attempts, made.run.spending.attempts) == (2, 3), "both, and the final verification"
    assert [event.race for event in made.told(AttemptStarted)][:2] == [("one", "two")] * 2
    assert not made.run.interrupt.cuts_short


def test_a_loser_that_is_in_its_gates_is_stopped_there_and_kept(person: Project) -> None:
    """Its agent had finished, which a later run would resume: nothing is left to resume in a lost race."""
    gate = f"! test -e one.txt || {{ touch {person.folder}/waits; sleep 60; }}"

    async def later(context: Context) -> StepResult:
        await until((person.folder / "waits").exists)
        return await writes(two="2")(context)

    end, made = race(person, plays(one=writes(one="1"), two=later), gate=gate, jobs=2)

    assert end.ending is Ending.DONE
    assert ended(made) == {1: ("one", Verdict.INTERRUPTED), 2: ("two", Verdict.PASSED)}
    assert person.landed("one.txt", "refs/ralph/attempts/auth/US-001/1") == "1"
    assert "one.txt" not in person.files_in("ralph/auth")


def test_if_both_pass_at_the_same_time_one_lands(person: Project) -> None:
    met = asyncio.Barrier(2)

    def meets(turn: Turn) -> Turn:
        async def meeting(context: Context) -> StepResult:
            done = await turn(context)
            await met.wait()
            return done

        return meeting

    end, made = race(person, plays(one=meets(writes(one="1")), two=meets(writes(two="2"))), jobs=2)

    assert end.ending is Ending.DONE
    assert len(landings(person)) == len(made.told(Landed)) == 1
    assert sorted(verdict.value for _, verdict in ended(made).values()) == ["interrupted", "passed"]
    for number, name in ((1, "one.txt"), (2, "two.txt")):
        assert name in person.files_in(f"refs/ralph/attempts/auth/US-001/{number}"), "both are kept"


def test_if_all_fail_it_counts_as_one_failure_and_the_next_race_knows_why(person: Project) -> None:
    race_lost = plays(one=says(Verdict.FAILED, "red"), two=says(Verdict.BLOCKED, "given up"))
    end, made = race(person, race_lost, maxRetries=2)

    assert end.ending is Ending.BLOCKED
    assert started(made) == [(1, "one"), (2, "two"), (3, "one"), (4, "two")]
    failures = [event.failures for event in made.told(AttemptStarted)]
    assert failures == [0, 0, 1, 1] and made.task().state is TaskState.BLOCKED
    assert "one, attempt 3: red" in made.task().notes and "two, attempt 4: given up" in made.task().notes
    assert len(made.task().tried) == 4


def test_one_that_fails_costs_nothing_if_another_passes(person: Project) -> None:
    async def after_the_other(context: Context) -> StepResult:
        await ran.wait()
        return await writes(two="2")(context)

    async def fails(context: Context) -> StepResult:
        ran.set()
        return await RED(context)

    ran = asyncio.Event()
    end, made = race(person, plays(one=fails, two=after_the_other))

    assert end.ending is Ending.DONE
    assert ended(made) == {1: ("one", Verdict.FAILED), 2: ("two", Verdict.PASSED)}
    assert (made.task().failures, made.task().notes, made.task().attempts) == (0, "", 2)


@pytest.mark.parametrize("how", [Verdict.LIMITED, Verdict.INTERRUPTED])
def test_an_agent_that_is_limited_or_down_drops_out_at_once(person: Project, how: Verdict) -> None:
    """Neither waits the race for it, nor does its next race begin with it."""
    dropped = asyncio.Event()

    async def down(context: Context) -> StepResult:
        dropped.set()
        return StepResult(
            step="played", verdict=how, reason="not now", retry_at=9000.0, fatal=how is Verdict.INTERRUPTED
        )

    async def fails_once(context: Context) -> StepResult:
        await dropped.wait()
        return await (RED if context.attempt.number == 2 else writes(two="2"))(context)

    end, made = race(person, plays(one=down, two=fails_once))

    assert end.ending is Ending.DONE
    assert started(made) == [(1, "one"), (2, "two"), (3, "two")]
    assert ended(made)[1] == ("one", Verdict.LIMITED)
    assert (made.told(Waited), made.slept, made.task().failures) == ([], [], 1)
    assert ("Ralph does not use one" in made.notes) is (how is Verdict.INTERRUPTED)


def test_the_last_one_left_waits_for_its_limit(person: Project) -> None:
    failed = asyncio.Event()

    async def fails(context: Context) -> StepResult:
        failed.set()
        return await RED(context)

    async def limited(context: Context) -> StepResult:
        await failed.wait()
        await until(lambda: context.host.may_wait)  # type: ignore[attr-defined]
        if context.call > 1:
            return await writes(two="2")(context)
        return await says(Verdict.LIMITED, "limit", retry_at=1500.0)(context)

    end, made = race(person, plays(one=fails, two=limited))

    assert (end.ending, made.slept) == (Ending.DONE, [500.0])
    assert ended(made)[2] == ("two", Verdict.PASSED)


def test_no_race_is_larger_than_the_budget(person: Project) -> None:
    end, made = race(person, plays(one=RED, two=RED), budget={"attempts": 3})

    assert end.ending is Ending.BUDGET
    assert started(made) == [(1, "one"), (2, "two"), (3, "one")]


def test_a_race_begins_after_some_failures(person: Project) -> None:
    settings = {**RACE, "race": {"agents": ["one", "two"], "afterFailures": 2}}
    end, made = race(person, plays(nobody=RED, one=RED, two=writes(two="2")), **settings)

    assert end.ending is Ending.DONE
    assert started(made) == [(1, ""), (2, ""), (3, "one"), (4, "two")]


def test_a_task_names_its_own_racers_and_one_agent_can_race_with_itself(person: Project) -> None:
    turns = plays(nobody=RED, one=RED, two=writes(two="2"))
    story = {"title": "One", "race": ["default", "two", "two"]}
    end, made = race(person, turns, stories=(story,))

    assert end.ending is Ending.DONE
    assert started(made)[:3] == [(1, "nobody"), (2, "two"), (3, "two")]
    assert len(landings(person)) == 1


def test_once_is_one_race(person: Project) -> None:
    end, made = race(person, plays(one=RED, two=RED), once=True)

    assert end == Finished(ending=Ending.ONCE, reason="failed")
    assert (started(made), made.task().failures) == ([(1, "one"), (2, "two")], 1)


def test_a_person_who_interrupts_a_race_ends_all_of_it_and_nothing_is_charged(person: Project) -> None:
    async def stops(context: Context) -> StepResult:
        context.host.run.interrupt.request()  # type: ignore[attr-defined]
        return await waits(context)

    end, made = race(person, plays(one=RED, two=stops))

    assert end.ending is Ending.INTERRUPTED
    assert (made.task().state, made.task().failures, made.task().attempts) == (TaskState.PENDING, 0, 2)


# After a kill


def by(agent: str, commit: str) -> StepResult:
    return StepResult(step="played", verdict=Verdict.PASSED, commit=commit, changed=True, agent=agent)


async def left_behind(made: Engine, *landed: int) -> None:
    """Two finished attempts of a race are on record; the given one has already landed, and the plan does not say so."""
    base = await made.tip()
    for number, name, rival in ((1, "one", 2), (2, "two", 1)):
        commit = made.commit(base, **{name: name})
        made.run.note(made.record(base, number=number, agent=name, rivals=(rival,), steps=(by(name, commit),)))
        if number in landed:
            tip = made.commit(base, f"feat: US-001\n\nRalph-Attempt: auth/US-001/{number}", **{name: name})
            assert made.run.branch
            assert await made.run.branch.land(tip, base)


def test_after_a_kill_one_finished_attempt_lands_and_the_other_is_kept(person: Project) -> None:
    async def body(made: Engine) -> None:
        await left_behind(made)
        await rescue(made.run, made.slots)
        outcome = await recover(made.run, made.slots)

        assert outcome and outcome.verdict is Verdict.PASSED
        assert ended(made) == {1: ("one", Verdict.PASSED), 2: ("two", Verdict.INTERRUPTED)}
        assert records.load(made.run.workspace.records) == []
        assert (made.task().attempts, made.task().racing) == (2, ())

    engine(person, body, turns={"US-001": []}, **RACE)

    assert landings(person) == ["Ralph-Attempt: auth/US-001/1"]
    assert person.landed("two.txt", "refs/ralph/attempts/auth/US-001/2") == "two"


def test_after_a_kill_what_had_landed_is_not_landed_over(person: Project) -> None:
    """The branch had moved, and the plan did not say so yet: the attempt with the lower number must not land too."""

    async def body(made: Engine) -> None:
        await left_behind(made, 2)
        await recover(made.run, made.slots)

        assert ended(made)[1] == ("one", Verdict.INTERRUPTED)
        assert made.task().state is TaskState.PASSED and made.task().result
        assert made.task().result.agent == "two"

    engine(person, body, turns={"US-001": []}, **RACE)

    assert landings(person) == ["Ralph-Attempt: auth/US-001/2"]
    assert person.landed("one.txt", "refs/ralph/attempts/auth/US-001/1") == "one"


def test_after_a_kill_work_that_fails_costs_nothing_while_its_rival_was_at_work(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        made.run.note(made.record(base, number=1, agent="one", rivals=(2, 3), agent_at_work=True))
        made.run.note(
            made.record(base, number=2, agent="two", rivals=(1, 3), steps=(by("two", made.commit(base, bad="x")),))
        )
        await recover(made.run, made.slots)

        assert ended(made) == {2: ("two", Verdict.FAILED), 1: ("one", Verdict.INTERRUPTED)}
        assert (made.task().failures, made.task().attempts, made.task().racing) == (0, 2, ())
        assert person.git("rev-parse", "refs/ralph/attempts/auth/US-001/2")

    engine(person, body, gate="! test -e bad.txt", turns={"US-001": []}, **RACE)


def test_a_person_ends_all_attempts_of_a_race(person: Project) -> None:
    async def body(made: Engine) -> tuple[Finished, Engine]:
        steering = made.run.steering
        async with steering.listening(), steering.changing():
            loop = asyncio.create_task(work_through(made.run, made.slots))
            await until(lambda: len(made.told(AttemptStarted)) == 2)
            about = Instruction(id="1", command=Command.SKIP, target="auth", tasks=("US-001",))
            instructions.post(made.run.workspace, about)
            return await asyncio.wait_for(loop, 30), made

    end, made = engine(person, body, stories=("One",), turns={"US-001": [plays(one=waits, two=waits)]}, **RACE)

    assert end.ending is Ending.BLOCKED
    assert [event.verdict for event in made.told(AttemptEnded)] == [Verdict.INTERRUPTED] * 2
    task = made.task()
    assert (task.standing, task.failures, task.attempts, task.racing) == ("left out", 0, 2, ())


def test_with_review_the_first_green_work_of_a_race_is_held_and_the_others_end(person: Project) -> None:
    async def body(made: Engine) -> tuple[Finished, Engine]:
        return await work_through(made.run, made.slots), made

    turn = plays(one=writes(one="1"), two=waits)
    end, made = engine(person, body, stories=("One",), turns={"US-001": [turn]}, land="review", **RACE)

    assert end.ending is Ending.BLOCKED
    task = made.task()
    assert task.need
    assert (task.standing, task.need.kind, task.failures, task.racing) == ("held", NeedKind.REVIEW, 0, ())
    assert "one.txt" in person.files_in("refs/ralph/attempts/auth/US-001/1")
    assert "one.txt" not in person.files_in("ralph/auth")
