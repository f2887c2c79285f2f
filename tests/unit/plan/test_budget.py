"""When a budget is used up, and how that is said."""

from __future__ import annotations

import pytest

from ralph.config import Allowance
from ralph.plan.budget import AmountSpent, used_up
from ralph.plan.usage import Usage

SPENT = AmountSpent(
    usage=Usage(input_tokens=1_000, output_tokens=200, cache_read_tokens=30, cost_usd=2.5, calls=3),
    attempts=3,
    seconds=5400,
)


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (Allowance(), ""),
        (Allowance(usd=2.51, tokens=1231, hours=1.6, attempts=4), ""),
        (Allowance(usd=2.5), "The budget of auth is used up: $2.50 of $2.50."),
        (Allowance(tokens=1230), "The budget of auth is used up: 1,230 of 1,230 tokens."),
        (Allowance(hours=1.5), "The budget of auth is used up: 1.5 of 1.5 hours."),
        (Allowance(attempts=3), "The budget of auth is used up: 3 of 3 attempts."),
    ],
)
def test_a_budget_is_used_up_when_the_whole_amount_is_spent(allowed: Allowance, said: str) -> None:
    assert used_up(allowed, SPENT, "auth") == said


def test_what_is_unknown_uses_nothing_up() -> None:
    assert used_up(Allowance(usd=0.01, tokens=1), AmountSpent(usage=Usage(calls=1, unpriced=1)), "auth") == ""
