"""The merge train, in simulated time: nothing lands that was not green as the tree that it lands as."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.train import Arrival, Car, Coupling, Train
from ralph.testing.clock import simulate
from ralph.verify.suite import SuiteResult

Tree = tuple[str, ...]
"""What is in a tree, in the order in which it was merged."""


@dataclass(frozen=True)
class Job:
    """Some work: when it arrives, how long its gates take, and what is wrong with its first attempt."""

    name: str
    arrives: float = 0.0
    gates: float = 10.0
    is_bad: bool = False  # its gates are red whatever is beside it
    clashes: frozenset[str] = frozenset()  # red together with these
    conflicts: frozenset[str] = frozenset()  # cannot be merged with these
    later: float = 0.0  # how long the steps after its gates take
    is_held: bool = False  # the first time, these steps refuse it
    quits: float | None = None  # so long after its arrival it is killed, and tried again later


@dataclass
class Simulation:
    """Attempts at jobs, a branch, and a train between them."""

    jobs: tuple[Job, ...]
    places: int = 100
    branch: Tree = ()
    green: set[Tree] = field(default_factory=set)
    checks: int = 0
    running: int = 0
    most: int = 0  # checks that ran at the same time
    landings: dict[str, float] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # attempts that cost a retry

    def __post_init__(self) -> None:
        self.known = {job.name: job for job in self.jobs}
        self.train = Train(tip=self.tip, couple=self.couple, places=self.places)
        self.turn = asyncio.Lock()
        self.mended: set[tuple[str, str]] = set()
        self.held: set[str] = set()

    async def tip(self) -> str:
        await asyncio.sleep(0)
        return "+".join(self.branch)

    async def couple(self, car: Car, onto: str) -> Coupling:
        """Merging takes a moment, in which anything may happen."""
        await asyncio.sleep(0.01)
        there = _tree(onto)
        if any(self.is_broken("conflicts", car.name, other) for other in there):
            return Coupling(base=onto, conflict=f"{car.name} conflicts")
        return Coupling(commit="+".join((*there, car.name)), base=onto, is_merged=bool(there))

    def is_broken(self, how: str, one: str, other: str) -> bool:
        pairs = ((one, other), (other, one))
        return any(b in getattr(self.known[a], how) for a, b in pairs) and not self.mended.intersection(pairs)

    async def check(self, coupling: Coupling) -> SuiteResult:
        tree = _tree(coupling.commit)
        self.checks += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.known[tree[-1]].gates)
        finally:
            self.running -= 1
        bad = [name for name in tree if self.known[name].is_bad and (name, name) not in self.mended]
        clash = [pair for pair in combinations(tree, 2) if self.is_broken("clashes", *pair)]
        if bad or clash:
            return SuiteResult(results=(), problem=f"red: {bad} {clash}")
        self.green.add(tree)
        return SuiteResult(results=())

    async def attempt(self, job: Job, number: int) -> bool:
        """Bring one attempt's work to the branch; return whether it landed. A failure is mended in the next attempt."""
        car = Car(name=job.name, number=number, rank=self.jobs.index(job))
        with self.train.riding(car):
            commit = f"{job.name}-{number}"
            arrival = await self.train.verify(car, commit, self.check)
            if arrival.is_green:
                await asyncio.sleep(job.later)
                if job.is_held and job.name not in self.held:
                    self.held.add(job.name)
                    return False
                arrival = await self.train.arrive(car, commit, self.check)
            if not arrival.is_green:
                self.mend(job, arrival)
                return False
            async with self.turn:
                await asyncio.sleep(0.01)
                tree = _tree(arrival.coupling.commit)
                assert tree == (*self.branch, job.name), "it lands as it was verified"
                assert tree in self.green, "it was green as the tree that it lands as"
                self.branch = tree
                self.train.land(car)
            self.landings[job.name] = asyncio.get_running_loop().time()
            return True

    def mend(self, job: Job, arrival: Arrival) -> None:
        """Only what has landed may be held against an attempt."""
        there = _tree(arrival.coupling.base)
        assert there == self.branch[: len(there)], "nothing is judged for what never landed"
        if arrival.coupling.conflict:
            assert any(self.is_broken("conflicts", job.name, other) for other in there)
        else:
            is_own = job.is_bad and (job.name, job.name) not in self.mended
            assert is_own or any(self.is_broken("clashes", job.name, other) for other in there)
            self.lost.append(job.name)
        self.mended |= {(job.name, other) for other in (job.name, *there)}

    async def work(self, job: Job) -> None:
        await asyncio.sleep(job.arrives)
        if job.quits is not None:
            killed = asyncio.ensure_future(self.attempt(job, 0))
            await asyncio.sleep(job.quits)
            killed.cancel()
            if (await asyncio.gather(killed, return_exceptions=True))[0] is True:
                return
        for number in range(1, len(self.jobs) + 3):
            if await self.attempt(job, number):
                return
            await asyncio.sleep(1.0)
        raise AssertionError(f"{job.name} never lands")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for job in self.jobs:
                group.create_task(self.work(job))

    def play(self) -> Simulation:
        simulate(self.run())
        assert sorted(self.branch) == sorted(self.known), "everything lands, once"
        assert self.train.cars == []
        assert self.running == 0, "no gate outlives its attempt"
        return self


def _tree(commit: str) -> Tree:
    return tuple(filter(None, commit.split("+")))


def play(*jobs: Job, **more: Any) -> Simulation:
    return Simulation(jobs, **more).play()


def names(count: int) -> list[str]:
    return [f"J{number}" for number in range(count)]


@st.composite
def some_jobs(draw: st.DrawFn) -> tuple[Job, ...]:
    known = names(draw(st.integers(1, 7)))
    some = st.frozensets(st.sampled_from(known), max_size=2)
    moments = st.floats(0, 30).map(lambda value: round(value, 1))
    return tuple(
        Job(
            name,
            arrives=draw(moments),
            gates=draw(moments),
            is_bad=draw(st.integers(0, 3)) == 0,
            clashes=draw(some) - {name},
            conflicts=draw(some) - {name},
            later=draw(moments),
            is_held=draw(st.booleans()),
            quits=draw(st.none() | moments),
        )
        for name in known
    )


@given(some_jobs(), st.integers(1, 5))
def test_nothing_lands_that_was_not_green_as_the_tree_it_lands_as(jobs: tuple[Job, ...], places: int) -> None:
    done = play(*jobs, places=places)

    assert done.most <= places


def test_eight_that_arrive_together_are_verified_once_each_and_at_the_same_time() -> None:
    done = play(*map(Job, names(8)))

    assert (done.checks, done.most) == (8, 8)
    assert max(done.landings.values()) < 12
    assert list(done.landings) == names(8), "in the order of the plan"


def test_what_is_behind_a_red_car_is_verified_again_without_it_and_all_of_it_at_the_same_time() -> None:
    bad = Job("J2", is_bad=True)
    done = play(*(bad if name == "J2" else Job(name) for name in names(6)))

    assert done.lost == ["J2"]
    assert done.branch == ("J0", "J1", "J3", "J4", "J5", "J2")
    assert max(done.landings[name] for name in ("J3", "J4", "J5")) < 22
    assert done.checks == 6 + 3 + 1


def test_what_is_red_only_together_is_told_when_the_other_has_landed() -> None:
    done = play(Job("J0", gates=20), Job("J1", gates=1, clashes=frozenset({"J0"})), Job("J2", gates=1))

    assert done.lost == ["J1"]
    assert done.branch == ("J0", "J2", "J1")
    assert done.landings["J2"] < 21, "it waits for what is ahead of it, and for nothing else"


def test_a_conflict_with_work_that_never_lands_is_none() -> None:
    done = play(Job("J0", is_bad=True), Job("J1", arrives=1, gates=1, conflicts=frozenset({"J0"})))

    assert done.lost == ["J0"]
    assert done.branch == ("J1", "J0")


def test_only_work_whose_gates_run_is_said_to_be_verified_with_others() -> None:
    yard = Simulation((Job("J0"), Job("J1", arrives=1, conflicts=frozenset({"J0"})), Job("J2", arrives=2)))
    told: list[tuple[str, int]] = []
    yard.train.coupled = lambda car: told.append((car.name, car.number))
    yard.play()

    assert told == [("J2", 1), ("J1", 2)], "no gates run on work that conflicts"


def test_when_there_is_no_place_the_first_in_the_plan_gets_the_next_one() -> None:
    late = (Job("J0", arrives=2), Job("J1", arrives=1))
    done = play(*late, Job("J2"), places=1)

    assert done.branch == ("J2", "J0", "J1")
    assert done.most == 1


def test_what_is_ready_waits_for_what_is_ahead_of_it_and_no_longer() -> None:
    done = play(Job("J0", later=30), Job("J1"))

    assert done.branch == ("J0", "J1")
    assert done.landings["J1"] == pytest.approx(40, abs=1)
    assert done.checks == 2


def test_what_is_refused_after_its_gates_were_green_is_taken_out_of_everything_behind_it() -> None:
    done = play(Job("J0", later=30, is_held=True), Job("J1"))

    assert done.branch == ("J1", "J0")
    assert done.landings["J1"] == pytest.approx(50, abs=1), "verified again when J0 had been refused"


def test_gates_that_end_at_the_very_moment_when_something_ahead_drops_out_count_for_nothing() -> None:
    async def body() -> None:
        yard, ends = Simulation((Job("J0"), Job("J1"))), [asyncio.Event(), asyncio.Event()]
        seen: list[str] = []

        async def check(coupling: Coupling) -> SuiteResult:
            seen.append(coupling.commit)
            await ends[len(seen) - 1].wait()
            return SuiteResult(results=())

        car = Car(name="J1")
        with yard.train.riding(car):
            arriving = asyncio.ensure_future(yard.train.arrive(car, "J1-1", check))
            await asyncio.sleep(1)
            ends[0].set()
            yard.branch = ("J0",)
            yard.train.uncouple(car)
            ends[1].set()
            assert (await arriving).coupling.commit == "J0+J1"
        assert seen == ["J1", "J0+J1"]

    simulate(body())


def test_a_car_that_is_killed_in_the_middle_takes_nobody_with_it() -> None:
    done = play(Job("J0"), Job("J1", quits=5), Job("J2"))

    assert done.branch == ("J0", "J2", "J1")
    assert done.lost == []


def test_what_an_attempt_does_after_its_gates_were_red_keeps_no_place() -> None:
    async def body() -> None:
        yard = Simulation((Job("J0", is_bad=True), Job("J1")), places=1)
        car = Car(name="J0")
        with yard.train.riding(car):
            assert not (await yard.train.verify(car, "J0-1", yard.check)).is_green
            assert await asyncio.wait_for(yard.attempt(yard.jobs[1], 1), 60)
            assert not (await yard.train.verify(car, "J0-1", yard.check)).is_green, "it may get on again"
        assert yard.branch == ("J1",)

    simulate(body())


def test_what_moved_the_branch_meanwhile_is_verified_too() -> None:
    async def body() -> None:
        yard = Simulation((Job("J0"), Job("J1")))
        car = Car(name="J1")
        with yard.train.riding(car):
            await yard.train.arrive(car, "J1-1", yard.check)
            yard.branch = ("J0",)
            yard.train.uncouple(car)
            arrival = await yard.train.arrive(car, "J1-1", yard.check)
        assert (arrival.coupling.commit, yard.checks) == ("J0+J1", 2)

    simulate(body())


def test_hooks_that_change_the_work_have_it_verified_again() -> None:
    async def body() -> None:
        yard = Simulation((Job("J0"),))
        car = Car(name="J0")
        with yard.train.riding(car):
            for commit, checks in (("J0-1", 1), ("J0-1", 1), ("J0-2", 2)):
                assert (await yard.train.arrive(car, commit, yard.check)).is_green
                assert yard.checks == checks

    simulate(body())


def test_an_error_in_the_gates_is_an_error_of_its_own_attempt_only() -> None:
    async def body() -> None:
        yard = Simulation((Job("J0"), Job("J1")))

        async def breaks(coupling: Coupling) -> SuiteResult:
            raise OSError("the disk is full")

        async def first() -> None:
            car = Car(name="J0")
            with yard.train.riding(car):
                await yard.train.arrive(car, "J0-1", breaks)

        results = await asyncio.gather(first(), yard.attempt(yard.jobs[1], 1), return_exceptions=True)
        assert [type(result) for result in results] == [OSError, bool]
        assert yard.branch == ("J1",)

    simulate(body())


@pytest.mark.parametrize("ranks", [(0, 1, 2), (2, 1, 0)])
def test_waiting_for_a_place_ends_with_the_attempt(ranks: Iterable[int]) -> None:
    async def body() -> None:
        yard = Simulation(tuple(map(Job, names(3))), places=1)
        first, second, third = (Car(name=f"J{rank}", rank=rank) for rank in ranks)

        async def ride(car: Car) -> Arrival:
            with yard.train.riding(car):
                return await yard.train.arrive(car, "x", yard.check)

        tasks = [asyncio.ensure_future(ride(car)) for car in (first, second, third)]
        await asyncio.sleep(1)
        tasks[1].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(one, Arrival) for one in done] == [True, False, True]

    simulate(body())
