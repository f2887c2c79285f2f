"""Recovery, in this process: what a killed run had on record is resumed, kept or forgotten, and never believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph.engine.loop import work_through
from ralph.engine.recovery import prove_again, recover, rescue
from ralph.engine.run import Doubt
from ralph.journal.events import AttemptStarted, GateEnded, Landed
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import TaskState
from ralph.plan.work import Ending, Verdict, WorkKind
from ralph.stores import records
from tests.conftest import Project
from tests.integration.engine import Engine, engine, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")


def made_by_agent(commit: str) -> StepResult:
    return StepResult(step="played", verdict=Verdict.PASSED, commit=commit, changed=True, summary="feat: one")


def noted(made: Engine, record: Record) -> Record:
    made.run.note(record)
    return record


def left(made: Engine) -> list[Record]:
    return records.load(made.run.workspace.records)


def test_without_a_record_there_is_nothing_to_recover(person: Project) -> None:
    async def body(made: Engine) -> None:
        await rescue(made.run, made.slots)
        assert await recover(made.run, made.slots) is None
        assert made.heard == []

    engine(person, body)


def test_an_attempt_whose_agent_had_finished_is_verified_and_lands_without_another_call(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        noted(made, made.record(base, steps=(made_by_agent(made.commit(base, one="1")),)))
        outcome = await recover(made.run, made.slots)

        assert outcome and outcome.verdict is Verdict.PASSED
        assert [(event.attempt, event.resumed) for event in made.told(AttemptStarted)] == [(1, True)]
        assert len(made.told(GateEnded)) == 1
        assert made.task().state is TaskState.PASSED
        assert left(made) == []

    engine(person, body, turns={"US-001": []})  # whoever calls the agent is found out

    assert person.landed("one.txt") == "1"


@pytest.mark.parametrize("forged", ["verify", "commit"])
def test_what_gates_and_hooks_are_said_to_have_found_is_not_believed(person: Project, forged: str) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        commit = made.commit(base, bad="x")
        claim = StepResult(step=forged, verdict=Verdict.PASSED, commit=commit)
        claim = replace(claim, verified_tree=person.git("rev-parse", f"{commit}^{{tree}}"))
        noted(made, made.record(base, steps=(made_by_agent(commit), claim)))
        outcome = await recover(made.run, made.slots)

        assert outcome and outcome.verdict is Verdict.FAILED
        assert (await made.tip(), made.told(Landed)) == (base, [])
        assert (made.task().failures, left(made)) == (1, [])
        assert person.git("rev-parse", "refs/ralph/attempts/auth/US-001/1") == commit

    engine(person, body, gate="! test -e bad.txt", turns={"US-001": []})


CUT_SHORT: dict[str, dict[str, Any]] = {
    "its agent was at work": {"agent_at_work": True},
    "its agent had been interrupted": {"steps": (StepResult(step="played", verdict=Verdict.INTERRUPTED),)},
    "its commit is gone": {"steps": (made_by_agent("1" * 40),)},
    "nobody knows of its agent": {"steps": (StepResult(step="verify", verdict=Verdict.PASSED),)},
}


@pytest.mark.parametrize("case", CUT_SHORT)
def test_an_attempt_that_was_cut_short_costs_nothing_and_its_number_is_not_used_again(
    person: Project, case: str
) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        noted(made, made.record(base, **CUT_SHORT[case]))
        outcome = await recover(made.run, made.slots)

        assert outcome and outcome.verdict is Verdict.INTERRUPTED
        assert (made.task().state, made.task().failures, made.task().attempts) == (TaskState.PENDING, 0, 1)
        assert "US-001, attempt 1 was interrupted" in made.notes
        assert left(made) == []
        assert (await work_through(made.run, made.slots)).ending is Ending.DONE
        assert made.told(AttemptStarted)[0].attempt == 2

    engine(person, body, turns={"US-001": [writes(one="1")]})

    assert "Ralph-Attempt: auth/US-001/2" in person.git("log", "--format=%B", "ralph/auth")


def test_what_an_agent_had_made_in_its_slot_is_kept_before_the_slot_is_used_again(person: Project) -> None:
    async def body(made: Engine) -> None:
        start = await made.slots.start_of(made.work())
        host = await made.slots.prepare(1, start, made.work())
        (host.cwd / "half.txt").write_text("half")
        noted(made, made.record(start.tip, agent_at_work=True, slot=1))
        await rescue(made.run, made.slots)

        assert person.landed("half.txt", "refs/ralph/attempts/auth/US-001/1") == "half"
        (record,) = left(made)
        assert not record.agent_at_work, "it is kept once, also if this run is killed as well"

    engine(person, body)


def test_what_a_reader_had_written_in_its_slot_is_not_kept(person: Project) -> None:
    async def body(made: Engine) -> None:
        start = await made.slots.start_of(made.work())
        host = await made.slots.prepare(1, start, made.work())
        (host.cwd / "half.txt").write_text("half")
        noted(made, made.record(start.tip, agent_at_work=True, read_only=True, slot=1))
        await rescue(made.run, made.slots)

        assert person.git("for-each-ref", "refs/ralph/attempts") == ""

    engine(person, body)


def test_a_record_of_what_is_settled_already_is_forgotten(person: Project) -> None:
    async def body(made: Engine) -> None:
        assert (await work_through(made.run, made.slots, once=True)).reason == "passed"
        before, tip = made.run.plan, await made.tip()
        noted(made, made.record(person.git("rev-parse", "main"), steps=(made_by_agent(tip),)))
        assert await recover(made.run, made.slots) is None
        assert (made.run.plan, await made.tip(), left(made)) == (before, tip, [])

    engine(person, body, turns={"US-001": [writes(one="1")]})


def test_a_record_of_a_story_that_is_no_more_is_forgotten(person: Project) -> None:
    async def body(made: Engine) -> None:
        noted(made, made.record(await made.tip(), "US-009", agent_at_work=True))
        assert await recover(made.run, made.slots) is None
        assert left(made) == []

    engine(person, body)


@pytest.mark.parametrize("is_red", [False, True])
def test_what_passed_in_a_killed_run_is_proved_again(person: Project, is_red: bool) -> None:
    """Whoever killed it may have written that it passed: the gates decide, on the tip of the branch."""

    async def body(made: Engine) -> None:
        assert (await work_through(made.run, made.slots)).ending is Ending.DONE
        if is_red:
            (person.folder / "red").touch()
        gates = len(made.told(GateEnded))
        await prove_again(made.run, Doubt(is_unclean=True, tasks=("US-001",)))

        assert len(made.told(GateEnded)) == gates + 1
        assert made.task().state is (TaskState.PENDING if is_red else TaskState.PASSED)
        assert not made.run.plan.review.verified_at
        assert ("Ralph could not know" in made.task().notes) is is_red

    engine(person, body, gate=f"! test -e {person.folder}/red", turns={"US-001": [writes(one="1")]})


def test_what_passed_long_before_the_killed_run_is_not_proved_again(person: Project) -> None:
    async def body(made: Engine) -> None:
        await work_through(made.run, made.slots)
        plan, gates = made.run.plan, len(made.told(GateEnded))
        await prove_again(made.run, Doubt(is_unclean=True))
        assert (made.run.plan, len(made.told(GateEnded))) == (plan, gates)

    engine(person, body, turns={"US-001": [writes(one="1")]})


def test_a_final_verification_that_was_cut_short_is_made_again(person: Project) -> None:
    async def body(made: Engine) -> None:
        await work_through(made.run, made.slots, once=True)
        tip = await made.tip()
        noted(made, made.record(tip, "final", kind=WorkKind.REVIEW, agent_at_work=True, read_only=True))
        outcome = await recover(made.run, made.slots)

        assert outcome and outcome.verdict is Verdict.INTERRUPTED
        assert (made.run.plan.review.failures, left(made)) == (0, [])
        assert (await work_through(made.run, made.slots)).ending is Ending.DONE

    engine(person, body, turns={"US-001": [writes(one="1")]})
