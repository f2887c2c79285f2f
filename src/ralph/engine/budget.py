"""Keeps a run within its budget: counts what attempts use, also while they run, and says when nothing more begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ralph.config import Budget
from ralph.journal.events import STOPPED, AgentEnded, AttemptEnded, AttemptStarted, Event
from ralph.plan.budget import AmountSpent, used_up
from ralph.plan.usage import Usage
from ralph.plan.work import WorkKind
from ralph.stores import spending
from ralph.stores.spending import TargetSpending

Call = tuple[str, int]
"""The work and the attempt of a call that is running."""


@dataclass
class Spending:
    """Listens to a run's journal. What has been spent is kept for the next run."""

    folder: Path
    run: str
    target: str
    budget: Budget
    clock: Callable[[], float]
    written: Callable[[Path], None] = lambda _: None  # called after each write of the file
    began: float = 0.0
    paused: float = 0.0  # seconds that do not count
    attempts: int = 0  # of this run
    usage: Usage = field(default_factory=Usage)  # of this run
    unpriced: str = ""  # the work of a call that ended without a known cost
    uncounted: str = ""  # the work of a call that ended without known tokens
    _still_since: float | None = None  # since when the clock stands still; None: it runs
    _known: TargetSpending = field(default_factory=TargetSpending)  # of all runs together, this one included
    _live: dict[Call, Usage] = field(default_factory=dict)  # of calls that are running
    _begun: set[Call] = field(default_factory=set)  # attempts that are running
    _ended: dict[Call, Usage] = field(default_factory=dict)  # of ended calls, whose attempts are running

    def begin(self) -> None:
        self.began = self.clock()
        self._known = spending.of_target(self.folder, self.target)

    def __call__(self, event: Event, _line: str = "") -> None:
        match event:
            case AttemptStarted() if event.kind is not WorkKind.FINISH:
                self._begun.add((event.work, event.attempt))
            case AgentEnded():
                call = event.work, event.attempt
                self._live.pop(call, None)
                self._ended[call] = self._ended.get(call, Usage()) + event.usage
                self.usage += event.usage
                if event.how != STOPPED:  # otherwise it had no time to say
                    self.unpriced = event.work if event.usage.unpriced else self.unpriced
                    self.uncounted = event.work if event.usage.output_tokens is None else self.uncounted
            case AttemptEnded() if event.kind is not WorkKind.FINISH:
                self._begun.discard((event.work, event.attempt))
                self._ended.pop((event.work, event.attempt), None)
                self.attempts += event.counts
                self._known.add(event)
                self.written(spending.append(self.folder, self.run, self.target, event))

    def stand_still(self, is_still: bool) -> None:
        """Stop the clock of the budget, or let it run on."""
        if is_still and self._still_since is None:
            self._still_since = self.clock()
        elif not is_still and self._still_since is not None:
            self.paused += self.clock() - self._still_since
            self._still_since = None

    @property
    def _seconds(self) -> float:
        """How long the run has taken, without its pauses."""
        until = self.clock() if self._still_since is None else self._still_since
        return until - self.began - self.paused

    def meter(self, work: str, attempt: int, usage: Usage) -> str:
        """Note what a running call has used so far; return which budget that uses up, if it must end at once."""
        self._live[work, attempt] = usage
        return self.used_up() or self.used_up_by(work) if self.budget.hard else ""

    def used_up(self) -> str:
        """Return which budget of the run or of its plan is used up; "" if more can begin."""
        allowances = (self.budget, self.budget.target, self.budget.task)
        if self.unpriced and any(one.usd is not None for one in allowances):
            return f"The budget is in dollars, but the cost of a call for {self.unpriced} is unknown."
        if self.uncounted and any(one.tokens is not None for one in allowances):
            return f"The budget is in tokens, but the tokens of a call for {self.uncounted} are unknown."
        running = sum((*self._live.values(), *self._ended.values()), Usage())
        live = sum(self._live.values(), Usage())
        run = AmountSpent(usage=self.usage + live, attempts=self.attempts, seconds=self._seconds)
        return used_up(self.budget, run, "this run") or used_up(
            self.budget.target, self._known.total + AmountSpent(usage=running), f"{self.target} in all runs"
        )

    def used_up_by(self, task: str) -> str:
        """Return which budget of a task is used up; "" if it can be attempted."""
        running = [*self._live.items(), *self._ended.items()]
        spent = AmountSpent(usage=sum((usage for (work, _), usage in running if work == task), Usage()))
        return used_up(self.budget.task, self._known.tasks.get(task, AmountSpent()) + spent, task)

    def has_room_beside(self, running: int) -> bool:
        """Return whether an attempt would be left if all that is running used one."""
        made = ((self.budget.attempts, self.attempts), (self.budget.target.attempts, self._known.total.attempts))
        begun = max(running, len(self._begun))
        return all(limit is None or limit - used > begun for limit, used in made)

    def attempts_left(self, task: str) -> int | None:
        """Return how many more attempts at a task may begin; None: any number."""
        known = self._known.tasks.get(task, AmountSpent()).attempts
        allowed = (
            (self.budget.attempts, self.attempts + len(self._begun)),
            (self.budget.target.attempts, self._known.total.attempts + len(self._begun)),
            (self.budget.task.attempts, known + sum(work == task for work, _ in self._begun)),
        )
        return min((limit - made for limit, made in allowed if limit is not None), default=None)

    @property
    def total(self) -> AmountSpent:
        """What all runs of the plan have used together."""
        return self._known.total

    @property
    def seconds_left(self) -> float | None:
        """Return how long this run may take from now on; None: as long as it likes."""
        hours = self.budget.hours
        return None if hours is None else max(hours * 3600 - self._seconds, 0.0)
