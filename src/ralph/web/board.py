"""The board of a plan: four columns that follow from facts. Nobody moves a card. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from ralph.frozen import Frozen
from ralph.plan.model import Task, TaskState
from ralph.report import summary
from ralph.report.facts import PlanReport, TaskFacts
from ralph.views import words

PAGE = 60
"""Cards of one column that are shown at once; a search or a link shows the others."""


class Column(Enum):
    """Where a task stands."""

    WAITING = "Waiting"
    WORKING = "Working"
    NEEDS = "Needs you"
    DONE = "Done"

    @property
    def key(self) -> str:
        return self.value.lower().replace(" ", "-")


class Card(Frozen):
    """One task on the board."""

    id: str
    title: str
    state: str  # for its colour
    mark: str
    chips: tuple[str, ...]
    remark: str = ""  # why it is where it is
    said: str = ""  # the last thing that its agent said
    since: float = 0.0  # when its attempt began, in seconds since 1970; 0: it is not being worked on
    attempts: int = 0
    seconds: float = 0.0


class ColumnOfCards(Frozen):
    """A column, or the part of it that is shown."""

    column: Column
    total: int
    cards: tuple[Card, ...]

    @property
    def left(self) -> int:
        return self.total - len(self.cards)


def at_work(report: PlanReport) -> dict[str, TaskFacts]:
    """Return the tasks that the running run is working on."""
    if not report.running:
        return {}
    return {
        facts.task.id: facts
        for facts in report.tasks
        if facts.attempts and facts.attempts[-1].run == report.running and not facts.attempts[-1].verdict
    }


def column_of(task: Task, working: Iterable[str]) -> Column:
    """Return where a task belongs."""
    if task.id in working:
        return Column.WORKING
    if task.state is TaskState.PASSED or task.left_out:
        return Column.DONE
    return Column.NEEDS if task.state is TaskState.BLOCKED else Column.WAITING


def board(
    report: PlanReport, *, search: str = "", whole: str = "", said: Mapping[str, str] = MappingProxyType({})
) -> tuple[ColumnOfCards, ...]:
    """Return the columns; `whole`: the key of the column that is shown with all of its cards.

    `said`: the last words of the agents that are at work, by task.
    """
    working = at_work(report)
    passed = {task.id for task in report.plan if task.state is TaskState.PASSED}
    found: dict[Column, list[TaskFacts]] = {column: [] for column in Column}
    for facts in report.tasks:
        if _matches(facts.task, search):
            found[column_of(facts.task, working)].append(facts)
    found[Column.DONE].reverse()  # the newest work first: plans are worked through from their beginning
    return tuple(
        ColumnOfCards(
            column=column,
            total=len(tasks),
            cards=tuple(
                _card(one, passed, said.get(one.task.id, ""), is_working=one.task.id in working)
                for one in (tasks if whole == column.key else tasks[:PAGE])
            ),
        )
        for column, tasks in found.items()
    )


def _matches(task: Task, search: str) -> bool:
    wanted = search.casefold().split()
    return not wanted or all(word in f"{task.id} {task.title} {task.standing}".casefold() for word in wanted)


def _card(facts: TaskFacts, passed: set[str], said: str, *, is_working: bool) -> Card:
    task = facts.task
    last = facts.attempts[-1] if facts.attempts else None
    return Card(
        id=task.id,
        title=task.title,
        state="working" if is_working else task.standing.replace(" ", "-"),
        mark="●" if is_working else words.mark(task),
        chips=tuple(_chips(facts, passed)),
        remark=last.now if last and is_working else _remark(task),
        said=said,
        since=last.begin if last and is_working else 0.0,
        attempts=summary.tried(facts),
        seconds=facts.spent.seconds,
    )


def _chips(facts: TaskFacts, passed: set[str]) -> Iterable[str]:
    task = facts.task
    if how := summary.evidence(facts):
        yield how
    if task.state is TaskState.PENDING:
        waits = [one for one in task.depends_on if one not in passed]
        if waits:
            yield f"after {', '.join(waits[:3])}{' …' if waits[3:] else ''}"
    if (tried := summary.tried(facts)) > 1:
        yield words.count(tried, "attempt")
    if facts.spent.seconds:
        yield words.duration(facts.spent.seconds)
    if facts.spent.usage.cost_usd is not None:
        yield summary.usage_of(facts.spent.usage)


def _remark(task: Task) -> str:
    if task.need and task.needs_person:
        return words.cut(words.first_line(task.need.why), 200)
    if task.state is TaskState.PASSED:
        return ""
    return words.cut(words.first_line(task.notes), 200)
