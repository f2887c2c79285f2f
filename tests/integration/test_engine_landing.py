"""Landing, in this process: work and state go onto the branch together, once, and only as the gates have seen them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from ralph.engine.coupling import MAX_CONFLICTS
from ralph.engine.host import LocalHost
from ralph.engine.landing import landing_of
from ralph.engine.loop import close
from ralph.engine.receipts import open_receipts
from ralph.engine.train import Car
from ralph.journal.events import GateEnded, Landed
from ralph.plan.model import Need, NeedKind, TaskState
from ralph.plan.work import Outcome, Verdict
from ralph.steps.verify import TOGETHER
from tests.conftest import Project
from tests.integration.engine import Engine, engine

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

TWO = ("One", "Two")


async def lands(made: Engine, outcome: Outcome, base: str, *, resumed: bool = False) -> Outcome:
    """Land work as the loop does when an attempt's steps have ended."""
    work, record = made.work(outcome.work_id), made.record(base, outcome.work_id, outcome.number)
    landed_as = await landing_of(made.run, work, record) if resumed else ""
    car = Car(name=work.id, number=outcome.number, base=base, landed_as=landed_as)
    with made.run.train(work.line).riding(car):
        return await close(made.run, LocalHost(run=made.run, car=car), work, record, outcome)


async def tree_of(made: Engine, commit: str) -> str:
    assert made.run.branch
    return await made.run.branch.repo.tree_of(commit)


def test_what_the_gates_have_seen_lands_with_its_state_in_one_commit_and_they_do_not_run_again(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        commit = made.commit(base, one="1")
        outcome = await lands(made, made.passed(commit, verified_tree=await tree_of(made, commit)), base)

        assert outcome.verdict is Verdict.PASSED
        assert await made.tip() == outcome.commit == made.task().result.commit  # type: ignore[union-attr]
        assert made.told(GateEnded) == []
        assert [event.commit for event in made.told(Landed)] == [outcome.commit]
        assert person.git("rev-parse", "refs/ralph/attempts/auth/US-001/1") == commit

    engine(person, body)

    assert person.git("log", "--format=%s", "main..ralph/auth").splitlines()[-1] == "feat: US-001 - One"
    assert "Ralph-Attempt: auth/US-001/1" in person.git("log", "-1", "--format=%B", "ralph/auth")
    assert person.landed("one.txt") == "1"
    assert person.plan_at("ralph/auth")["userStories"][0]["passes"] is True


def test_a_tree_that_the_gates_have_not_seen_is_verified_before_it_lands(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        outcome = await lands(made, made.passed(made.commit(base, bad="x")), base)

        assert outcome.verdict is Verdict.FAILED
        assert "test ! -e bad.txt" in outcome.reason
        assert (await made.tip(), made.task().failures) == (base, 1)
        assert made.told(Landed) == []

    engine(person, body, gate="test ! -e bad.txt")


def test_work_beside_which_other_work_has_landed_is_verified_together_with_it(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        for name, files in (("US-001", {"one": "1"}), ("US-002", {"two": "2"})):
            commit = made.commit(base, **files)
            seen = made.passed(commit, name, verified_tree=await tree_of(made, commit))
            assert (await lands(made, seen, base)).verdict is Verdict.PASSED
        assert len(made.told(GateEnded)) == 1, "only the second is on a tree that nobody has seen"

    engine(person, body, stories=TWO)

    assert (person.landed("one.txt"), person.landed("two.txt")) == ("1", "2")
    assert all(story["passes"] for story in person.plan_at("ralph/auth")["userStories"])


def test_work_that_is_red_together_with_what_landed_is_sent_back_and_kept(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        first, second = made.commit(base, one="1"), made.commit(base, two="2")
        await lands(made, made.passed(first, verified_tree=await tree_of(made, first)), base)
        tip = await made.tip()
        outcome = await lands(made, made.passed(second, "US-002", verified_tree=await tree_of(made, second)), base)

        assert outcome.verdict is Verdict.FAILED
        assert outcome.reason.endswith(TOGETHER)
        assert await made.tip() == tip
        assert person.git("rev-parse", "refs/ralph/attempts/auth/US-002/1") == second
        assert (made.task("US-002").state, made.task("US-002").failures) == (TaskState.PENDING, 1)

    engine(person, body, stories=TWO, gate="! { test -e one.txt && test -e two.txt; }")


def test_a_conflict_is_no_failure_until_it_happens_too_often(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        first = made.commit(base, app="one\n")
        await lands(made, made.passed(first, verified_tree=await tree_of(made, first)), base)
        tip, other = await made.tip(), made.commit(base, app="two\n")
        verdicts = []
        for number in range(1, MAX_CONFLICTS + 2):
            outcome = await lands(made, made.passed(other, "US-002", number), base)
            verdicts.append((outcome.verdict, made.task("US-002").failures))

        assert verdicts == [(Verdict.CONFLICTED, 0)] * MAX_CONFLICTS + [(Verdict.BLOCKED, 0)]
        assert "in app.txt" in outcome.reason and "+two" in outcome.reason
        assert made.task("US-002").need == Need(kind=NeedKind.CONFLICT, why=outcome.reason.split(":\n")[0])
        assert person.landed("app.txt") == "one"
        assert await made.tip() != tip, "only the plan has been committed, which says that it is blocked"

    engine(person, body, stories=TWO)


def test_work_that_changes_nothing_is_settled_without_a_commit_of_its_own(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        outcome = await lands(made, made.passed(base, verified_tree=await tree_of(made, base)), base)

        assert outcome.verdict is Verdict.PASSED
        assert made.task().result.commit == base  # type: ignore[union-attr]
        assert made.told(Landed) == []

    engine(person, body)

    assert person.git("log", "--format=%s", "main..ralph/auth").splitlines() == ["chore: update prd.json"]


def test_a_branch_that_somebody_moved_is_taken_back_and_the_work_lands_all_the_same(person: Project) -> None:
    async def body(made: Engine) -> str:
        base = await made.tip()
        stray = made.commit(base, evil="x")
        person.git("update-ref", "refs/heads/ralph/auth", stray)
        commit = made.commit(base, one="1")
        outcome = await lands(made, made.passed(commit, verified_tree=await tree_of(made, commit)), base)

        assert outcome.verdict is Verdict.PASSED
        assert f"refs/ralph/strays/{stray[:12]}" in made.notes
        assert person.git("rev-parse", f"refs/ralph/strays/{stray[:12]}") == stray
        return stray

    engine(person, body)

    assert person.landed("one.txt") == "1"
    assert "evil.txt" not in person.files_in("ralph/auth")


def test_what_had_landed_before_a_kill_is_settled_and_does_not_land_again(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        commit = made.commit(base, one="1")
        seen = made.passed(commit, verified_tree=await tree_of(made, commit))
        before = made.run.plan
        first = await lands(made, seen, base)
        made.run.save(before)  # the kill came after the branch had moved, and before the plan was saved
        again = await lands(made, replace(seen, verified_tree=""), base, resumed=True)

        assert again.commit == first.commit == await made.tip()
        assert made.task().state is TaskState.PASSED
        assert len(made.told(Landed)) == 1
        assert len(made.told(GateEnded)) == 1, "its verdict could have been forged: the gates run again"

    engine(person, body)


async def landed_and_killed(made: Engine) -> tuple[str, str, Outcome]:
    """Land one.txt, as if the kill came after the branch had moved and before the plan was saved."""
    base, before = await made.tip(), made.run.plan
    commit = made.commit(base, one="1")
    seen = made.passed(commit, verified_tree=await tree_of(made, commit))
    first = await lands(made, seen, base)
    made.run.save(before)
    return base, first.commit, replace(seen, verified_tree="")


def test_what_had_landed_before_a_kill_is_settled_as_its_own_commit_although_other_work_came_on_top(
    person: Project,
) -> None:
    async def body(made: Engine) -> None:
        base, first, seen = await landed_and_killed(made)
        later = made.commit(first, one="2")
        assert (await lands(made, made.passed(later, "US-002"), first)).verdict is Verdict.PASSED
        tip, landings = await made.tip(), len(made.told(Landed))
        again = await lands(made, seen, base, resumed=True)

        assert (again.verdict, again.commit) == (Verdict.PASSED, first), "to land again would be a conflict"
        assert made.task().result and made.task().result.commit == first  # type: ignore[union-attr]
        assert (await made.tip(), len(made.told(Landed)), made.task().failures) == (tip, landings, 0)

    engine(person, body, stories=TWO)

    assert person.landed("one.txt") == "2"


def test_what_had_landed_before_a_kill_without_its_receipt_gets_it_when_the_run_resumes(person: Project) -> None:
    async def body(made: Engine) -> None:
        branch = made.run.branch
        assert branch
        await open_receipts(made.run, branch)
        assert branch.receipts
        base, first, seen = await landed_and_killed(made)
        assert await branch.receipts.has(first)
        person.git("update-ref", "-d", "refs/notes/ralph")
        await lands(made, seen, base, resumed=True)

        assert await branch.receipts.has(first)

    engine(person, body)


def test_interrupted_while_the_gates_run_nothing_is_settled_and_nothing_lands(person: Project) -> None:
    async def body(made: Engine) -> None:
        base = await made.tip()
        before = made.run.plan
        landed = asyncio.create_task(lands(made, made.passed(made.commit(base, one="1")), base))
        async with asyncio.timeout(20):
            while not (person.folder / "begun").exists():  # noqa: ASYNC110 - a gate sets no event
                await asyncio.sleep(0.01)
        made.run.interrupt.request()

        assert (await landed).verdict is Verdict.INTERRUPTED
        assert (await made.tip(), made.run.plan) == (base, before)

    engine(person, body, gate=f"touch {person.folder}/begun; sleep 300")
