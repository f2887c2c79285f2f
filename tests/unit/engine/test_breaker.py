"""The circuit breaker against a clock that only moves when told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.breaker import Breaker, BreakerState


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(threshold: int = 3, reset_after: float = 60.0) -> tuple[Breaker, Clock]:
    clock = Clock()
    return Breaker(threshold=threshold, reset_after=reset_after, clock=clock), clock


def test_it_stays_closed_until_it_has_failed_too_often() -> None:
    breaker, _ = made(threshold=3)
    for _ in range(2):
        breaker.failed()
        assert breaker.state is BreakerState.CLOSED
        assert breaker.allows()
    breaker.failed()
    assert breaker.state is BreakerState.OPEN
    assert not breaker.allows()


def test_one_success_forgives_all_failures() -> None:
    breaker, _ = made(threshold=2)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.state is BreakerState.CLOSED


def test_after_its_time_one_try_decides() -> None:
    breaker, clock = made(threshold=1, reset_after=60)
    breaker.failed()
    clock.now += 59.9
    assert not breaker.allows()
    clock.now += 0.1
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.allows()
    breaker.failed()
    assert breaker.state is BreakerState.OPEN
    clock.now += 60
    breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED


def test_a_clock_that_is_set_back_keeps_it_open_no_longer() -> None:
    breaker, clock = made(threshold=1, reset_after=60)
    breaker.failed()
    clock.now -= 500_000
    assert breaker.state is BreakerState.HALF_OPEN


ACTIONS = st.lists(st.sampled_from(["fail", "succeed"]) | st.integers(0, 100), max_size=40)


@given(st.integers(1, 4), st.integers(1, 50), ACTIONS)
def test_it_is_open_exactly_while_it_should_be(threshold: int, reset_after: int, actions: list[str | int]) -> None:
    breaker, clock = made(threshold, reset_after)
    in_a_row, opened_at = 0, None
    for action in actions:
        if isinstance(action, int):
            clock.now += action
        elif action == "succeed":
            breaker.succeeded()
            in_a_row, opened_at = 0, None
        elif breaker.allows():
            breaker.failed()
            in_a_row += 1
            if in_a_row >= threshold:
                opened_at = clock.now
        expected_open = opened_at is not None and clock.now - opened_at < reset_after
        assert breaker.allows() is not expected_open
        assert (breaker.state is BreakerState.CLOSED) is (opened_at is None)


MOMENTS = st.floats(0, 2e9, allow_nan=False)
SPANS = st.floats(0.001, 7 * 24 * 3600)


def opened(threshold: int, reset_after: float, at: float) -> tuple[Breaker, Clock]:
    breaker, clock = made(threshold, reset_after)
    clock.now = at
    for _ in range(threshold):
        breaker.failed()
    return breaker, clock


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 6))
def test_it_opens_exactly_with_the_last_of_enough_failures_in_a_row(tries: list[bool], threshold: int) -> None:
    breaker, _ = made(threshold)
    in_a_row = 0
    for failed in tries:
        in_a_row = in_a_row + 1 if failed else 0
        if failed:
            breaker.failed()
        else:
            breaker.succeeded()
        assert breaker.failures == in_a_row
        assert breaker.allows() is (in_a_row < threshold)
        if not breaker.allows():
            break


@given(st.integers(1, 6), SPANS, MOMENTS, st.lists(st.floats(0, 1, exclude_max=True), max_size=5))
def test_nothing_is_let_through_before_its_time(
    threshold: int, reset_after: float, at: float, parts: list[float]
) -> None:
    breaker, clock = opened(threshold, reset_after, at)
    closes_at = breaker.closes_at
    assert closes_at == at + reset_after
    for part in parts:
        clock.now = at + reset_after * part
        if clock.now < closes_at:
            assert breaker.state is BreakerState.OPEN
            assert not breaker.allows()
    assert breaker.closes_at == closes_at


@given(st.integers(1, 6), SPANS, MOMENTS)
def test_whoever_waits_until_it_closes_is_let_through(threshold: int, reset_after: float, at: float) -> None:
    breaker, clock = opened(threshold, reset_after, at)
    assert breaker.closes_at is not None
    clock.now = breaker.closes_at
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.allows()


@given(st.integers(2, 6), st.integers(1, 1000), st.integers(0, 1000), st.integers(1, 5))
def test_a_failed_try_in_between_opens_it_again_for_the_whole_time(
    threshold: int, reset_after: int, late: int, times: int
) -> None:
    breaker, clock = opened(threshold, reset_after, at=1000)
    for _ in range(times):
        clock.now += reset_after + late
        assert breaker.allows()
        breaker.failed()
        assert breaker.state is BreakerState.OPEN
        assert breaker.closes_at == clock.now + reset_after
        clock.now += reset_after - 1
        assert not breaker.allows()
        clock.now += 1
        assert breaker.allows()


@given(st.integers(1, 6), st.integers(1, 1000), st.integers(0, 5000))
def test_one_success_closes_it_and_all_failures_are_forgiven(threshold: int, reset_after: int, later: int) -> None:
    breaker, clock = opened(threshold, reset_after, at=1000)
    clock.now += later
    breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED
    assert breaker.closes_at is None
    for _ in range(threshold - 1):
        breaker.failed()
        assert breaker.allows()
        assert breaker.closes_at is None
    breaker.failed()
    assert breaker.closes_at == clock.now + reset_after


def test_a_breaker_that_was_never_opened_closes_at_no_time() -> None:
    breaker, _ = made(threshold=2)
    assert breaker.closes_at is None
    breaker.failed()
    assert breaker.closes_at is None
