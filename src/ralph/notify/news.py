"""Which events a person is told about, and in which words."""

from __future__ import annotations

import time
from collections.abc import Callable

from ralph.config_notify import NotifyKind
from ralph.frozen import Frozen
from ralph.journal.events import AttemptEnded, AttemptStarted, Event, RunEnded, RunStarted, Steered, TaskBlocked, Waited
from ralph.plan.model import Need, NeedKind, Task, TaskState
from ralph.plan.work import Ending, Verdict
from ralph.text import one_line
from ralph.views import words
from ralph.views.inbox import InboxItem

HEARD = frozenset((RunStarted, AttemptStarted, AttemptEnded, Steered, TaskBlocked, Waited, RunEnded))
MAX_HEADLINE, MAX_WHY, MAX_NAME = 200, 500, 80
WORTH_TELLING = 60.0  # seconds of a wait
ENDINGS = {
    Ending.DONE: "finished",
    Ending.BLOCKED: "ended, and not all tasks passed",
    Ending.UNVERIFIED: "ended, and not all of it is verified",
    Ending.HALTED: "halted, because a task failed",
    Ending.ONCE: "made one attempt",
    Ending.LIMITED: "stopped at a usage limit",
    Ending.BUDGET: "stopped, because its budget is used up",
    Ending.STOPPED: "stopped, because something must be fixed first",
}
"""How a run ended, as a person reads it. One that the person interrupted is no news."""

Describe = Callable[[Task], InboxItem | None]
"""What *Needs you* says about a blocked task."""


class NewsItem(Frozen):
    """One thing that happened; `kinds` are those under which a person may want to be told of it."""

    kinds: tuple[NotifyKind, ...]
    headline: str
    why: str = ""
    task: str = ""  # empty: it is about the whole run
    attempt: int = 0
    need: str = ""  # the kind of decision that a person must make
    commands: tuple[str, ...] = ()


class NewsReader:
    """Turns a run's events into news, each thing that happened at most once."""

    def __init__(self, target: str, describe: Describe) -> None:
        self.target, self.run = target, ""
        self._describe = describe
        self._titles: dict[str, str] = {}
        self._told: set[tuple[str, int]] = set()
        self._skipped: set[str] = set()  # the tasks that the person leaves out
        self._limited: set[str] = set()  # the agents whose limit was told

    def read(self, event: Event) -> NewsItem | None:
        match event:
            case RunStarted():
                self.run = event.run
            case AttemptStarted():
                self._titles[event.work] = words.cut(one_line(event.title), MAX_NAME)
            case AttemptEnded() if event.verdict is not Verdict.LIMITED:
                self._limited.discard(event.agent)
            case Steered() if not event.refused:
                self._skipped.difference_update(event.tasks)
                self._skipped.update(event.tasks if event.command == "skip" else ())
            case TaskBlocked() if event.work not in self._skipped and (event.work, event.attempt) not in self._told:
                self._told.add((event.work, event.attempt))
                return self._blocked(event)
            case Waited() if event.agent and event.seconds >= WORTH_TELLING and event.agent not in self._limited:
                self._limited.add(event.agent)
                return self._waits(event)
            case RunEnded() if event.ending in ENDINGS:
                return self._ended(event)
        return None

    def _blocked(self, event: TaskBlocked) -> NewsItem:
        need, title = _need(event), self._titles.get(event.work, "")
        task = Task(id=event.work, title=title, state=TaskState.BLOCKED, need=need, notes=event.reason)
        item = self._describe(task)
        said = item.headline if item else "blocked"
        name = " ".join(filter(None, (event.work, title)))
        return NewsItem(
            kinds=("needs-you",) if need else ("blocked",),
            headline=_cut(f"{name}: {said}", MAX_HEADLINE),
            why="" if said and one_line(event.reason) in said else _cut(event.reason, MAX_WHY),
            task=event.work,
            attempt=event.attempt,
            need=need.kind.value if need else "",
            commands=item.answers if item else (),
        )

    def _waits(self, event: Waited) -> NewsItem:
        until = words.time_of_day(event.until, time.time()) if event.until else ""
        waits = f"until {until}" if until else f"for {words.duration(event.seconds)}"
        headline = f"{event.agent} has reached a limit; the run waits {waits}"
        return NewsItem(kinds=("limit",), headline=_cut(headline, MAX_HEADLINE), why=_cut(event.reason, MAX_WHY))

    def _ended(self, event: RunEnded) -> NewsItem:
        more: dict[Ending, tuple[NotifyKind, ...]] = {Ending.LIMITED: ("limit",), Ending.BUDGET: ("budget",)}
        done = f"{event.passed + event.accepted}/{event.tasks}"
        parts = [
            f"{done} tasks",
            words.duration(event.seconds),
            words.cost(event.usage) if event.usage.cost_usd is not None else "",
        ]
        why = event.reason if event.ending is not Ending.DONE else ""
        return NewsItem(
            kinds=("finished", *more.get(event.ending, ())),
            headline=f"{self.target} {ENDINGS[event.ending]} · {' · '.join(filter(None, parts))}",
            why=_cut(why, MAX_WHY),
        )


def _need(event: TaskBlocked) -> Need | None:
    try:
        return Need(kind=NeedKind(event.need), why=event.reason, gate=event.gate)
    except ValueError:  # none, or one that this version does not know
        return None


def _cut(text: str, width: int) -> str:
    return words.cut(one_line(text[: 4 * width]), width)
