from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.report.facts import RunFacts, Span
from ralph.report.timeline import MAX_ATTEMPTS, draw, rows
from tests.unit.report.build import attempt

TIMES = st.tuples(st.integers(0, 50), st.integers(0, 20))
RUN = RunFacts(id="20260101-000000-00000000", begin=0.0, end=1.0, ending="done")


@given(st.lists(TIMES, max_size=20))
def test_a_row_has_no_attempts_at_the_same_time_and_none_is_lost(times: list[tuple[int, int]]) -> None:
    tried = tuple(
        attempt(number=index, begin=float(at), end=float(at + long)) for index, (at, long) in enumerate(times)
    )
    found = rows(tried)
    for row in found:
        assert all(one.end <= other.begin for one, other in zip(row.attempts, row.attempts[1:], strict=False))
    assert sorted(one.number for row in found for one in row.attempts) == list(range(len(times)))
    busiest = max((sum(one.begin <= at.begin < one.end for one in tried) for at in tried), default=0)
    assert len(found) <= max(busiest, 1) + sum(one.begin == one.end for one in tried)


def test_the_spans_of_an_attempt_are_inside_the_drawing() -> None:
    spans = (Span(kind="agent", name="claude", begin=0.0, end=5.0), Span(kind="gate", name="t", begin=5.0, end=10.0))
    drawing = draw(RUN, (attempt(begin=0.0, end=10.0, spans=spans),))
    assert 'class="agent" x="0.00"' in drawing and 'width="500.00"' in drawing
    assert 'class="gate" x="500.00"' in drawing


def test_nothing_is_drawn_for_no_attempts_or_for_too_many() -> None:
    assert draw(RUN, ()) == ""
    assert draw(RUN, (attempt(),) * (MAX_ATTEMPTS + 1)) == ""
