"""What the rest of a plan will take, from what earlier tasks took."""

from __future__ import annotations

from ralph.plan.budget import AmountSpent
from ralph.plan.estimate import estimate
from ralph.plan.usage import Usage


def took(seconds: float, usd: float | None = 1.0, tokens: int = 100) -> AmountSpent:
    usage = Usage(input_tokens=tokens, cost_usd=usd, calls=1, unpriced=int(usd is None))
    return AmountSpent(usage=usage, attempts=1, seconds=seconds)


def test_the_median_time_and_the_mean_cost_of_each_task() -> None:
    found = estimate([took(10), took(60, usd=4.0), took(1000)], [2, 2], 1)
    assert found and (found.seconds, found.usd, found.tokens, found.tasks, found.basis) == (240, 8.0, 400, 4, 3)


def test_tasks_at_once_take_the_time_of_their_waves() -> None:
    found = estimate([took(60)] * 3, [3, 1], 2)
    assert found and found.seconds == 180


def test_a_cost_that_is_unknown_is_not_guessed() -> None:
    found = estimate([took(60), took(60), took(60, usd=None)], [1], 1)
    assert found and found.usd is None


def test_without_a_basis_there_is_no_estimate() -> None:
    assert estimate([took(60)] * 2, [1], 1) is None
    assert estimate([took(60)] * 3, [], 1) is None
