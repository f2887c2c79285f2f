"""Races: several agents attempt the same task at the same time, and the first whose work lands ends the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from ralph.config import Config
from ralph.engine.interrupt import Interrupt
from ralph.engine.run import Run
from ralph.frozen import Frozen
from ralph.plan.model import NeedKind, Task
from ralph.plan.work import Outcome, Verdict, Work, progress_of

ANYONE = ("",)
"""No race: the first agent that can work does."""


class Racer(Frozen):
    """One attempt of a race, or the only one at its work."""

    number: int
    agent: str
    race: Race
    interrupt: Interrupt  # ends this attempt alone; the run's interrupt ends it too

    @property
    def rivals(self) -> tuple[int, ...]:
        return tuple(racer.number for racer in self.race.racers if racer is not self)

    @property
    def is_alone(self) -> bool:
        """Whether no other attempt of the race is running."""
        return all(racer is self for racer in self.race.running)


@dataclass
class Race:
    """The attempts at one piece of work that run at the same time."""

    racers: tuple[Racer, ...] = ()
    running: list[Racer] = field(default_factory=list)
    interrupt: Interrupt | None = None  # ends all of them
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)  # the first that arrives may land; the others wait

    @classmethod
    def begin(cls, run: Run, work: Work, interrupt: Interrupt) -> Race:
        """Give every agent that takes part the number of its attempt; `interrupt` ends all of them."""
        known, race = progress_of(run.plan, work.kind, work.id), cls(interrupt=interrupt)
        last = max(known.attempts if known else 0, run.numbers.get(work.id, 0))
        race.racers = tuple(
            Racer(number=number, agent=agent, race=race, interrupt=Interrupt(interrupt))
            for number, agent in enumerate(entrants(run, work), last + 1)
        )
        race.running = list(race.racers)
        return race

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(racer.agent for racer in self.racers) if self.racers[1:] else ()

    @property
    def ended_by_person(self) -> str:
        """Why a person ended these attempts while the run goes on; empty: nobody did."""
        return self.interrupt.why if self.interrupt and self.interrupt.halted else ""

    def end(self, racer: Racer, outcome: Outcome) -> None:
        """An attempt has ended; if its work has landed, or waits only for a person, end the others."""
        self.running.remove(racer)
        has_won = outcome.verdict is Verdict.PASSED or is_for_review(outcome)
        for other in self.running if has_won else ():
            other.interrupt.halt()


def is_for_review(outcome: Outcome) -> bool:
    return bool(outcome.need and outcome.need.kind is NeedKind.REVIEW)


def result(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome that counts for the run, of the attempts of one race."""
    return min(outcomes, key=_rank)


def _rank(outcome: Outcome) -> int:
    """One that passed comes first. One that was limited counts only if all were."""
    if is_for_review(outcome):
        return 0
    if outcome.fatal:
        return 1
    return {Verdict.PASSED: 0, Verdict.INTERRUPTED: 2, Verdict.LIMITED: 4}.get(outcome.verdict, 3)


def wanted(config: Config, task: Task | None) -> tuple[str, ...]:
    """Return the agents that race for a task now; empty: it is attempted once at a time."""
    if task is None or task.failures < config.race.after_failures:
        return ()
    return task.race or config.race.agents


def entrants(run: Run, work: Work) -> tuple[str, ...]:
    """Return the agents that attempt some work now, by name.

    In a race, these are the ones that can work, and no more than the budget allows. If none can, it is the one whose
    limit ends first, and no race.
    """
    names = wanted(run.config, run.plan.find(work.id)) if work.can_race else ()
    if not names:
        return ANYONE
    agents = [run.config.executor(name) for name in names]
    able = [agent.name for agent in agents if run.limits.free([agent])]
    if not able:
        limit = run.limits.in_the_way(agents, "")
        return (limit.agent if limit else agents[0].name,)
    allowed = run.spending.attempts_left(work.id)
    return tuple(able if allowed is None else able[: max(allowed, 1)])
