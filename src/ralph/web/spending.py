"""What a plan cost over time, and for each verified task. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from html import escape

from ralph.frozen import Frozen
from ralph.plan.model import TaskState
from ralph.plan.usage import Usage
from ralph.report import summary
from ralph.report.facts import PlanReport
from ralph.views import words

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 900, 240, 62, 26, 12
LINES = 4


class Point(Frozen):
    """What all attempts together had used when one of them ended."""

    at: float
    used: float
    name: str


class TaskCost(Frozen):
    """What one task took."""

    id: str
    title: str
    state: str
    mark: str
    attempts: int
    time: str
    tokens: str
    cost: str
    share: int  # of the dearest task, in percent


class SpendingPage(Frozen):
    """The page about cost."""

    rows: tuple[TaskCost, ...]
    total: str
    each: str  # for each verified task
    money: str  # drawings; empty: nothing is known
    tokens: str


def spending(report: PlanReport) -> SpendingPage:
    """Return what a plan used, task by task and over time."""
    ended = sorted((one for one in report.history.attempts if one.verdict), key=lambda one: one.end)
    usages = [(one.end, one.usage, one.name) for one in ended]
    money = tuple(_sums((at, usage.cost_usd, name) for at, usage, name in usages))
    tokens = tuple(_sums((at, usage.tokens or None, name) for at, usage, name in usages))
    return SpendingPage(
        rows=_rows(report),
        total=summary.cost(report),
        each=each_verified(report),
        money=draw(money, "Cost in dollars", _dollars),
        tokens=draw(tokens, "Tokens", lambda value: words.tokens(Usage(input_tokens=round(value))).partition(" ")[0]),
    )


def each_verified(report: PlanReport) -> str:
    """What a verified task cost on average, everything included; empty if nothing is known."""
    usage, done = report.spent.usage, report.plan.passed
    if usage.cost_usd is None or not done:
        return ""
    about = "at least " if usage.unpriced else ""
    return f"{about}{_dollars(usage.cost_usd / done)}"


def _rows(report: PlanReport) -> tuple[TaskCost, ...]:
    weights = {facts.task.id: _weight(facts.spent.usage) for facts in report.tasks}
    most = max(weights.values(), default=0.0) or 1.0
    tried = [facts for facts in report.tasks if facts.spent.attempts or facts.spent.usage.calls]
    return tuple(
        TaskCost(
            id=facts.task.id,
            title=facts.task.title,
            state=facts.task.standing,
            mark=words.mark(facts.task),
            attempts=summary.tried(facts),
            time=words.duration(facts.spent.seconds),
            tokens=words.tokens(facts.spent.usage),
            cost=words.cost(facts.spent.usage).removeprefix("cost "),
            share=round(100 * weights[facts.task.id] / most),
        )
        for facts in sorted(tried, key=lambda one: (-weights[one.task.id], one.task.state is TaskState.PASSED))
    )


def _weight(usage: Usage) -> float:
    """By money; tokens only decide where nobody said a price."""
    return (usage.cost_usd or 0.0) * 1e6 + usage.tokens


def _sums(values: Iterator[tuple[float, float | None, str]]) -> Iterator[Point]:
    used = 0.0
    for at, value, name in values:
        if value is not None:
            used += value
            yield Point(at=at, used=used, name=name)


def _dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.005 or not value else f"${value:.4f}"


def draw(points: tuple[Point, ...], label: str, text: Callable[[float], str]) -> str:
    """Return a growing sum as a stepped line; empty if there is no sum."""
    if not points or not points[-1].used:
        return ""
    begin, end = points[0].at, max(points[-1].at, points[0].at + 1.0)
    most = points[-1].used
    across, up = (WIDTH - LEFT - 12) / (end - begin), (HEIGHT - TOP - BOTTOM) / most
    floor = HEIGHT - BOTTOM
    dots = [(LEFT + (one.at - begin) * across, floor - one.used * up) for one in _thinned(points)]
    line = f"M{LEFT} {floor}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in dots)
    marks = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text(value))}</text>'
        for value in (most * index / LINES for index in range(LINES + 1))
        for y in (floor - value * up,)
    )
    form = "%H:%M:%S" if end - begin < 3600 else "%b %d %H:%M"
    times = "".join(
        f'<text x="{LEFT + (WIDTH - LEFT - 12) * part:.0f}" y="{HEIGHT - 6}" text-anchor="{anchor}">'
        f"{time.strftime(form, time.localtime(begin + (end - begin) * part))}</text>"
        for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    last = dots[-1][0]
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)} over time: '
        f'{escape(text(most))}">{marks}{times}<path class="under" d="{line}H{last:.1f}V{floor}Z"/>'
        f'<path class="sum" d="{line}"/></svg>'
    )


def _thinned(points: tuple[Point, ...], most: int = 400) -> tuple[Point, ...]:
    """As many points as a drawing has room for, always with the last."""
    step = -(-len(points) // most)
    return (*points[::step], points[-1]) if step > 1 else points
