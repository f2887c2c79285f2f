"""What calls used: sums in which unknown is never nothing."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.work import StepSpec, Usage

COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")
AMOUNT = st.none() | st.integers(0, 10**9)
USAGES = st.builds(
    Usage,
    input_tokens=AMOUNT,
    output_tokens=AMOUNT,
    cache_read_tokens=AMOUNT,
    cache_write_tokens=AMOUNT,
    cost_usd=st.none() | st.integers(0, 1000).map(float),
    calls=st.integers(0, 5),
    unpriced=st.integers(0, 5),
    model=st.sampled_from(["", "opus", "haiku"]),
)


def test_unknown_and_unknown_stay_unknown() -> None:
    total = Usage(calls=1, unpriced=1) + Usage(calls=1, unpriced=1)
    assert all(getattr(total, name) is None for name in COUNTS)
    assert (total.calls, total.unpriced) == (2, 2)


def test_a_known_cost_beside_an_unknown_one_says_that_one_is_missing() -> None:
    total = Usage(cost_usd=0.5, calls=1) + Usage(calls=1, unpriced=1)
    assert (total.cost_usd, total.calls, total.unpriced) == (0.5, 2, 1)


def test_known_nothing_is_not_unknown() -> None:
    assert (Usage(cost_usd=0.0) + Usage()).cost_usd == 0.0
    assert (Usage() + Usage(input_tokens=0)).input_tokens == 0


def test_the_last_model_that_was_named_is_kept() -> None:
    assert (Usage(model="a") + Usage(model="b")).model == "b"
    assert (Usage(model="a") + Usage()).model == "a"


@given(st.lists(USAGES, max_size=5))
def test_a_sum_is_unknown_only_if_every_part_is(usages: list[Usage]) -> None:
    total = reduce(add, usages, Usage())
    for name in COUNTS:
        known = [getattr(usage, name) for usage in usages if getattr(usage, name) is not None]
        assert getattr(total, name) == (sum(known) if known else None)
    assert total.calls == sum(usage.calls for usage in usages)
    assert total.unpriced == sum(usage.unpriced for usage in usages)


@given(USAGES)
def test_adding_nothing_changes_nothing(usage: Usage) -> None:
    assert usage + Usage() == usage == Usage() + usage


@given(USAGES, USAGES, USAGES)
def test_the_order_of_adding_up_makes_no_difference(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)


@pytest.mark.parametrize(
    ("spec", "label"), [(StepSpec(type="agent"), "agent"), (StepSpec(type="agent", name="x"), "x")]
)
def test_a_step_is_called_by_its_name_or_its_type(spec: StepSpec, label: str) -> None:
    assert spec.label == label
