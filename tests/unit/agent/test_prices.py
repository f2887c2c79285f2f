"""What a call cost when the agent did not say: worked out, marked so, or unknown; never 0."""

from __future__ import annotations

import pytest

from ralph.agent.prices import estimated
from ralph.plan.work import Usage


def test_a_known_model_is_priced_by_its_tokens_and_marked_as_an_estimate() -> None:
    used = Usage(input_tokens=1000, output_tokens=500, cache_read_tokens=10_000, calls=1, unpriced=1)
    priced = estimated(Usage(**{**vars(used), "model": "claude-sonnet-4-5"}))

    assert priced.cost_usd == pytest.approx((1000 * 3 + 10_000 * 0.3 + 500 * 15) / 1e6)
    assert (priced.estimated, priced.unpriced) == (1, 0)


def test_what_was_reported_stays_as_it_is() -> None:
    used = Usage(input_tokens=10, output_tokens=5, cost_usd=0.5, calls=1, model="claude-sonnet-4-5")

    assert estimated(used) is used


@pytest.mark.parametrize(
    "used",
    [
        Usage(input_tokens=10, output_tokens=5, calls=1, unpriced=1, model="a-model-nobody-knows"),
        Usage(input_tokens=10, output_tokens=5, calls=1, unpriced=1),
        Usage(calls=1, unpriced=1, model="claude-sonnet-4-5"),
        Usage(input_tokens=10, calls=1, unpriced=1, model="claude-sonnet-4-5"),
    ],
    ids=["unknown model", "no model", "no tokens", "no output tokens"],
)
def test_what_cannot_be_known_stays_unknown(used: Usage) -> None:
    assert estimated(used).cost_usd is None
    assert estimated(used).unpriced == 1
