"""How a run counts what it spends, and when nothing more begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralph.config import Allowance, Budget
from ralph.engine.budget import Spending
from ralph.journal.events import STOPPED, AgentEnded, AttemptEnded
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, WorkKind


def dollars(amount: float | None, **more: Any) -> Usage:
    return Usage(calls=1, cost_usd=amount, unpriced=int(amount is None), **more)


class Counted(Spending):
    """Spending with a clock that a test sets."""

    now = 0.0

    def __init__(self, folder: Path, budget: Budget, run: str = "r1") -> None:
        super().__init__(folder=folder, run=run, target="auth", budget=budget, clock=lambda: self.now)
        self.begin()

    def call(self, usage: Usage, work: str = "US-001", attempt: int = 1, how: str = "exited") -> None:
        about: dict[str, Any] = {"work": work, "attempt": attempt, "usage": usage}
        self(AgentEnded(**about, how=how, code=0, seconds=1, output_bytes=0, claims=()))

    def attempt(self, usage: Usage, work: str = "US-001", attempt: int = 1, verdict: Verdict = Verdict.FAILED) -> None:
        self.call(usage, work, attempt)
        self.end(usage, verdict, work, attempt)

    def end(self, usage: Usage, verdict: Verdict, work: str = "US-001", attempt: int = 1) -> None:
        about: dict[str, Any] = {"work": work, "attempt": attempt, "usage": usage, "kind": WorkKind.TASK}
        self(AttemptEnded(**about, verdict=verdict, reason="", base="", commit="", ref="", seconds=60))


def test_a_run_ends_when_its_budget_is_used_up(tmp_path: Path) -> None:
    spending = Counted(tmp_path, Budget(usd=1, attempts=3, hours=2))
    spending.attempt(dollars(0.6))
    assert spending.used_up() == ""
    spending.call(dollars(0.4), attempt=2)
    assert spending.used_up() == "The budget of this run is used up: $1.00 of $1.00."


def test_an_attempt_that_only_waited_for_an_agent_does_not_count(tmp_path: Path) -> None:
    budget = Budget(attempts=1, target=Allowance(attempts=1), task=Allowance(attempts=1))
    spending = Counted(tmp_path, budget)
    spending.attempt(dollars(0), attempt=1, verdict=Verdict.LIMITED)
    spending.end(Usage(), Verdict.INTERRUPTED, attempt=2)
    assert (spending.attempts, spending.total.attempts, spending.used_up()) == (0, 0, "")
    assert spending.used_up_by("US-001") == ""

    spending.attempt(dollars(0), attempt=3, verdict=Verdict.INTERRUPTED)

    assert spending.used_up() == "The budget of this run is used up: 1 of 1 attempts."
    assert Counted(tmp_path, budget, "r2").used_up().startswith("The budget of auth in all runs is used up")


def test_the_next_run_has_a_budget_of_its_own_but_the_plan_has_one(tmp_path: Path) -> None:
    budget = Budget(attempts=2, target=Allowance(attempts=3))
    first = Counted(tmp_path, budget)
    first.attempt(dollars(1))
    first.attempt(dollars(1), attempt=2)
    assert "this run" in first.used_up()

    second = Counted(tmp_path, budget, "r2")

    assert second.used_up() == ""
    second.attempt(dollars(1), attempt=3)
    assert second.used_up() == "The budget of auth in all runs is used up: 3 of 3 attempts."
    assert (second.attempts, second.total.attempts) == (1, 3)


def test_a_task_has_a_budget_over_all_runs(tmp_path: Path) -> None:
    budget = Budget(task=Allowance(usd=1))
    Counted(tmp_path, budget).attempt(dollars(0.7))
    later = Counted(tmp_path, budget, "r2")
    later.attempt(dollars(5), "US-002")
    assert later.used_up() == "" and later.used_up_by("US-001") == ""
    later.call(dollars(0.3))
    assert later.used_up_by("US-001") == "The budget of US-001 is used up: $1.00 of $1.00."


def test_what_a_call_has_used_counts_while_it_runs(tmp_path: Path) -> None:
    spending = Counted(tmp_path, Budget(usd=1, hard=True))
    assert spending.meter("US-001", 1, dollars(0.9)) == ""
    assert spending.meter("US-001", 1, dollars(1.1)).startswith("The budget of this run is used up")
    spending.call(dollars(0.95))
    assert spending.used_up() == "", "in the end it had used less"


@pytest.mark.parametrize("hard", [True, False])
def test_only_a_hard_budget_ends_a_running_call(tmp_path: Path, hard: bool) -> None:
    spending = Counted(tmp_path, Budget(tokens=10, hard=hard))
    assert bool(spending.meter("US-001", 1, Usage(output_tokens=11))) is hard
    assert spending.used_up(), "nothing more begins either way"


def test_a_call_without_a_cost_ends_a_run_with_a_budget_in_dollars(tmp_path: Path) -> None:
    spending = Counted(tmp_path, Budget(target=Allowance(usd=100)))
    spending.call(dollars(None), how=STOPPED)
    assert spending.used_up() == "", "a call that Ralph ended had no time to say"
    spending.call(dollars(None))
    assert spending.used_up() == "The budget is in dollars, but the cost of a call for US-001 is unknown."


def test_time_is_counted_from_the_start_of_the_run(tmp_path: Path) -> None:
    spending = Counted(tmp_path, Budget(hours=2))
    spending.now = 7199.0
    assert (spending.used_up(), spending.seconds_left) == ("", 1.0)
    spending.now = 7200.0
    assert spending.used_up() == "The budget of this run is used up: 2.0 of 2 hours."
    assert Counted(tmp_path, Budget()).seconds_left is None
