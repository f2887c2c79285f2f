"""The rows of the screen: the list on the left, the attempt on the right, the run's line and the keys below."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ralph.plan.model import Plan
from ralph.text import one_line, strip_ansi
from ralph.views import cells
from ralph.views.inbox import InboxItem
from ralph.views.lines import composed, is_coloured
from ralph.views.watching import attempt_pane, tasks
from ralph.views.watching.attempt_pane import TABS
from ralph.views.watching.story import Story, WatchedAttempt
from ralph.views.watching.tasks import TaskRow

NARROW = 60
"""Below this many columns only one pane is shown."""
HINTS = "j k move  ↵ open  tab {next}  / find  ? keys  q leave"


@dataclass
class WatchState:
    """What the person has chosen, and what is known."""

    target: str
    title: str = ""
    plan: Plan | None = None
    items: tuple[InboxItem, ...] = ()  # what needs a person
    story: Story = field(default_factory=Story)
    is_running: bool = False
    selected: str = ""  # the work
    number: int = 0  # of the attempt; 0: the last
    tab: str = TABS[0]
    is_open: bool = False  # the attempt has the whole screen
    scroll: int = 0  # lines away from where the tab begins: its end for words, its beginning otherwise
    query: str = ""
    typed: str | None = None  # what is being typed into the last row
    asked: str = ""  # what it answers
    message: str = ""
    keys: tuple[str, ...] = ()  # what the help lists; empty: it is not shown
    rows: list[TaskRow] = field(default_factory=list)
    diff: Callable[[WatchedAttempt], str] = lambda _: ""

    def update(self, now: float) -> None:
        places = {item.task: place for place, item in enumerate(self.items) if item.task}
        self.rows = tasks.rows(self.plan, self.story, now, self.query, places)
        if self.rows and all(row.work != self.selected for row in self.rows):
            self.selected, self.number, self.scroll = self.rows[0].work, 0, 0

    @property
    def place(self) -> int:
        return next((place for place, row in enumerate(self.rows) if row.work == self.selected), 0)

    def move(self, by: int) -> None:
        if self.rows:
            place = min(max(self.place + by, 0), len(self.rows) - 1)
            self.selected, self.number, self.scroll = self.rows[place].work, 0, 0

    @property
    def attempts(self) -> list[WatchedAttempt]:
        return self.story.by_work.get(self.selected, []) if self.rows else []

    @property
    def attempt(self) -> WatchedAttempt | None:
        found = [one for one in self.attempts if self.number in (0, one.number)]
        return found[-1] if found else None

    def turn(self, by: int) -> None:
        """Go to another attempt at the same work."""
        numbers = [one.number for one in self.attempts]
        if self.attempt:
            place = min(max(numbers.index(self.attempt.number) + by, 0), len(numbers) - 1)
            self.number, self.scroll = numbers[place], 0


def rows(state: WatchState, columns: int, height: int, now: float) -> list[str]:
    """Return exactly as many rows as the terminal has, each within its columns."""
    body = max(height - 4, 1)
    left = 0 if state.is_open else columns if columns < NARROW else min(max(columns * 2 // 5, 24), 60)
    right = columns if state.is_open else 0 if columns < NARROW else columns - left - 3
    if state.keys:
        middle = [_styled(cells.fitted(f"  {key}", columns)) for key in state.keys[:body]]
    else:
        list_rows = _list(state, left, body) if left else []
        pane_rows = _pane(state, right, body, now) if right else []
        bar = _styled(cells.readable(" │ "), fg="bright_black")
        middle = [f"{one}{bar}{two}" for one, two in zip(list_rows, pane_rows, strict=True)] if left and right else (
            list_rows or pane_rows
        )  # fmt: skip
    middle += [""] * (body - len(middle))
    return [_head(state, columns), "", *middle, _run(state, columns, now), _last(state, columns)][:height]


def _styled(text: str, **style: Any) -> str:
    text = composed(text, stream=sys.stdout, **{name: value for name, value in style.items() if value})
    return text if is_coloured() else strip_ansi(text)


def _fitted(text: str, width: int) -> str:
    return cells.filled(cells.readable(text), width)


def _head(state: WatchState, columns: int) -> str:
    story = state.story
    how = (
        "paused"
        if story.is_paused
        else "running"
        if state.is_running
        else story.ending or ("cut short" if story.run else "no run yet")
    )
    title = f" {state.target}" + (f": {one_line(state.title)}" if state.title else "")
    width = max(columns - len(how) - 2, 0)
    colour = "cyan" if state.is_running else "green" if story.ending == "done" else "yellow"
    return _styled(_fitted(title, width), bold=True) + _styled(cells.fitted(f" {how} ", columns), fg=colour)


def _list(state: WatchState, width: int, height: int) -> list[str]:
    first = min(max(state.place - height // 2, 0), max(len(state.rows) - height, 0))
    shown = state.rows[first : first + height]
    ids = min(max((cells.breadth(one_line(row.work)) for row in shown), default=0), width // 3)
    found = []
    for row in shown:
        is_chosen = row.work == state.selected
        remark = f" {row.remark}" if row.remark else ""
        name = cells.filled(cells.readable(one_line(row.work)), ids)
        text = f"{'>' if is_chosen else ' '}{cells.readable(row.mark)} {name} "
        space = width - cells.breadth(text) - cells.breadth(remark)
        text = cells.filled(f"{text}{_fitted(row.title, max(space, 0))}{cells.readable(remark)}", width)
        found.append(_styled(text, fg=row.colour, reverse=is_chosen))
    if not found:
        found = [_fitted(" no task matches" if state.query else " no tasks yet", width)]
    return found + [" " * width] * (height - len(found))


def _pane(state: WatchState, width: int, height: int, now: float) -> list[str]:
    attempt = state.attempt
    task = state.plan.find(state.selected) if state.plan else None
    text = attempt_pane.heading(attempt, len(state.attempts), now)
    tabs = "  ".join(f"[{tab}]" if tab == state.tab else f" {tab} " for tab in TABS)
    row = next((row for row in state.rows if row.work == state.selected), None)
    item = next((item for item in state.items if item.task == state.selected), None)
    head = [
        _styled(_fitted(one_line(f"{row.work} {row.title}") if row else "", width), bold=True),
        _styled(_fitted(one_line(text), width), fg="cyan"),
        _styled(_fitted(tabs, width)),
        "",
    ]
    space = max(height - len(head), 0)
    found = attempt_pane.laid_out(
        attempt_pane.lines(attempt, task, item, state.tab, lambda: state.diff(attempt) if attempt else ""), width
    )
    most = max(len(found) - space, 0)
    state.scroll = min(max(state.scroll, 0), most)
    first = most - state.scroll if state.tab == "words" else state.scroll
    shown = found[first : first + space]
    body = [_styled(_fitted(line, width), **_style(colour)) for line, colour in shown]
    return (head + body + [""] * (space - len(body)))[:height]


def _style(colour: str) -> dict[str, Any]:
    return {colour: True} if colour in ("bold", "dim") else {"fg": colour}


def _run(state: WatchState, columns: int, now: float) -> str:
    text = state.story.line.text(now)
    rest = next((item.headline for item in state.items if not item.task), "")  # of the run, not of a task
    note = rest or (state.story.note if state.is_running else state.story.reason)
    return _styled(_fitted(f" {one_line(' · '.join(filter(None, (text, note))))}", columns), reverse=True)


def _last(state: WatchState, columns: int) -> str:
    if state.typed is not None:
        space = max(columns - cells.breadth(state.asked) - 3, 4)
        typed = state.typed
        while cells.breadth(typed) > space:
            typed = typed[1:]
        return _styled(cells.fitted(cells.readable(f" {state.asked} {typed}█"), columns), bold=True)
    if state.message:
        return _styled(cells.fitted(cells.readable(f" {one_line(state.message)}"), columns), fg="yellow")
    following = TABS[(TABS.index(state.tab) + 1) % len(TABS)]
    return _styled(cells.fitted(cells.readable(f" {HINTS.format(next=following)}"), columns), dim=True)
