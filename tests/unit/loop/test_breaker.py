"""The circuit breaker against a clock that only moves when told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.loop.breaker import Breaker, State


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
        assert breaker.state is State.CLOSED
        assert breaker.allows()
    breaker.failed()
    assert breaker.state is State.OPEN
    assert not breaker.allows()


def test_one_success_forgives_all_failures() -> None:
    breaker, _ = made(threshold=2)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.state is State.CLOSED


def test_after_its_time_one_try_decides() -> None:
    breaker, clock = made(threshold=1, reset_after=60)
    breaker.failed()
    clock.now += 59.9
    assert not breaker.allows()
    clock.now += 0.1
    assert breaker.state is State.HALF_OPEN
    assert breaker.allows()
    breaker.failed()
    assert breaker.state is State.OPEN
    clock.now += 60
    breaker.succeeded()
    assert breaker.state is State.CLOSED


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
        assert (breaker.state is State.CLOSED) is (opened_at is None)
