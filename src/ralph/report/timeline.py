"""The attempts of a run over time, as a drawing in a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ralph.frozen import Frozen
from ralph.report.facts import AttemptHistory, RunFacts
from ralph.text import one_line
from ralph.views import words

WIDTH, ROW, BAR, TOP = 1000, 26, 16, 18
MARKS = 5  # labels on the axis
MIN_WIDTH = 1.5
MAX_ATTEMPTS = 400
"""Attempts that are drawn; a run with more is a grey band."""


class Row(Frozen):
    """Attempts that do not overlap."""

    attempts: tuple[AttemptHistory, ...]


def rows(attempts: tuple[AttemptHistory, ...]) -> list[Row]:
    """Return the attempts in as few rows as possible, each row in order of time."""
    found: list[list[AttemptHistory]] = []
    for attempt in sorted(attempts, key=lambda one: one.begin):
        free = next((row for row in found if row[-1].end <= attempt.begin), None)
        if free is None:
            found.append([attempt])
        else:
            free.append(attempt)
    return [Row(attempts=tuple(row)) for row in found]


def draw(run: RunFacts, attempts: tuple[AttemptHistory, ...]) -> str:
    """Return the drawing; empty if there is nothing to draw."""
    if not attempts or len(attempts) > MAX_ATTEMPTS:
        return ""
    begin = min(attempt.begin for attempt in attempts)
    length = max(max(attempt.end for attempt in attempts) - begin, 0.001)
    found = rows(attempts)
    height = TOP + ROW * len(found) + 4
    body = "".join(
        (
            *_axis(length, height),
            *(part for index, row in enumerate(found) for part in _row(row, begin, length, TOP + ROW * index)),
        )
    )
    label = escape(f"The attempts of run {run.id} over time")
    return f'<svg class="time" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{body}</svg>'


def _axis(length: float, height: int) -> Iterator[str]:
    for index in range(MARKS + 1):
        x = WIDTH * index / MARKS
        anchor = "start" if index == 0 else "end" if index == MARKS else "middle"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{height}"/>'
        yield f'<text x="{x:.1f}" y="11" text-anchor="{anchor}">{words.duration(length * index / MARKS)}</text>'


def _row(row: Row, begin: float, length: float, top: int) -> Iterator[str]:
    for attempt in row.attempts:
        x, width = _place(attempt.begin, attempt.end, begin, length)
        state = attempt.verdict or "killed"
        title = " · ".join(filter(None, (attempt.name, state, attempt.agent, words.duration(attempt.seconds))))
        yield f'<g><title>{escape(one_line(title))}</title><rect class="attempt {escape(state)}"'
        yield f' x="{x:.2f}" y="{top}" width="{width:.2f}" height="{BAR}" rx="2"/>'
        for span in attempt.spans:
            left, wide = _place(span.begin, span.end, begin, length)
            colour = span.kind if span.passed or span.kind == "agent" else f"{span.kind} red"
            yield f'<rect class="{colour}" x="{left:.2f}" y="{top + 3}" width="{wide:.2f}" height="{BAR - 6}">'
            what = f"{span.name} · {words.duration(span.end - span.begin)}"
            yield f"<title>{escape(one_line(what))}</title></rect>"
        yield f'<text class="name" x="{x:.2f}" y="{top + BAR + 8}">{escape(one_line(attempt.name))}</text></g>'


def _place(start: float, end: float, begin: float, length: float) -> tuple[float, float]:
    x = WIDTH * max(start - begin, 0.0) / length
    return x, max(WIDTH * (end - start) / length, MIN_WIDTH)
