"""Joins news into one message: a title, a text, and the same as JSON. Everything in it is bounded and plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ralph.config_notify import NotifyKind
from ralph.frozen import Frozen
from ralph.notify.news import NewsItem
from ralph.text import one_line, readable
from ralph.views import words

VERSION = 1
MAX_TITLE, MAX_TEXT, MAX_ITEMS = 150, 3_000, 10
OF_TASKS: dict[NotifyKind, tuple[str, str]] = {
    "needs-you": ("needs you", "need you"),
    "blocked": ("is blocked", "are blocked"),
}
URGENT = frozenset(("needs-you", "blocked", "limit", "budget"))


class Message(Frozen):
    """What one notification says."""

    project: str
    target: str
    run: str
    items: tuple[NewsItem, ...]
    left_out: int = 0  # news that is not in it, because there was too much
    is_test: bool = False

    @property
    def kinds(self) -> tuple[NotifyKind, ...]:
        return tuple(dict.fromkeys(kind for item in self.items for kind in item.kinds))

    @property
    def is_urgent(self) -> bool:
        """Whether nothing, or less, goes on until a person does something."""
        return not URGENT.isdisjoint(self.kinds)

    @property
    def title(self) -> str:
        """What it is about, with the project's name; the end of a run comes first."""
        return words.cut(f"{self.project}: {self._about}", MAX_TITLE)

    @property
    def _about(self) -> str:
        if len(self.items) == 1 and not self.left_out:
            return self.items[0].headline
        counts = Counter(item.kinds[0] for item in self.items if item.kinds[0] in OF_TASKS)
        others = [item.headline for item in reversed(self.items) if item.kinds[0] not in OF_TASKS]
        tasks = [f"{words.count(number, 'task')} {OF_TASKS[kind][number > 1]}" for kind, number in counts.items()]
        return ", ".join((*others[:1], *tasks))

    @property
    def text(self) -> str:
        """Each item with what settles it, the newest kept if not all fit."""
        shown = self.items[-MAX_ITEMS:]
        pieces = [_told(item, is_only=len(self.items) == 1) for item in shown]
        while len(pieces) > 1 and sum(map(len, pieces)) > MAX_TEXT:
            pieces.pop(0)
        missing = len(self.items) - len(pieces) + self.left_out
        return "\n".join((*pieces, f"… and {missing} more" if missing else "")).strip()[:MAX_TEXT]

    def document(self) -> dict[str, object]:
        """Return the message for programs."""
        return {
            "v": VERSION,
            "test": self.is_test,
            "project": self.project,
            "target": self.target,
            "run": self.run,
            "kinds": list(self.kinds),
            "urgent": self.is_urgent,
            "title": self.title,
            "text": self.text,
            "events": [_entry(item) for item in self.items],
            "leftOut": self.left_out,
        }


def variables(message: Message) -> dict[str, str]:
    """Return what a command finds in its environment."""
    tasks = dict.fromkeys(item.task for item in message.items if item.task)
    return {
        "RALPH_NOTIFY_TITLE": message.title,
        "RALPH_NOTIFY_TEXT": message.text,
        "RALPH_NOTIFY_KINDS": " ".join(message.kinds),
        "RALPH_NOTIFY_TARGET": message.target,
        "RALPH_NOTIFY_TASKS": " ".join(tasks),
    }


def _told(item: NewsItem, *, is_only: bool) -> str:
    """A single item's headline is the title already."""
    lines = ["" if is_only else item.headline, item.why, *(f"→ {command}" for command in item.commands[:1])]
    return "\n".join(filter(None, lines))


def _entry(item: NewsItem) -> dict[str, object]:
    return {
        "kinds": list(item.kinds),
        "headline": item.headline,
        "why": item.why,
        "task": item.task or None,
        "attempt": item.attempt or None,
        "need": item.need or None,
        "commands": list(item.commands),
    }


def joined(project: str, target: str, run: str, items: Sequence[NewsItem], left_out: int = 0) -> Message:
    """Return one message of several pieces of news."""
    return Message(project=_name(project), target=target, run=run, items=tuple(items), left_out=left_out)


def _name(project: str) -> str:
    """Return a folder's name, which can consist of any bytes, as text."""
    return one_line(readable(project))


def trial_message(project: str) -> Message:
    """Return what `ralph notify test` sends."""
    headline = "this is a test of Ralph's notifications"
    return Message(
        project=_name(project),
        target="test",
        run="",
        items=(NewsItem(kinds=("finished",), headline=headline, why="`ralph notify test` sent it."),),
        is_test=True,
    )
