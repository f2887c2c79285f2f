"""Tells a person what happens in a run, as the configuration says, and afterwards what could not be delivered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ralph.cli.needs import answers, headline
from ralph.config_notify import NotifySettings
from ralph.journal.writer import Listener
from ralph.plan.model import Task
from ralph.views.lines import say
from ralph.workspace import Workspace


@asynccontextmanager
async def notifying(
    workspace: Workspace, settings: tuple[NotifySettings, ...], target: str
) -> AsyncIterator[tuple[Listener, ...]]:
    """Yield what must listen to the run's journal; at its end, wait a moment for the last messages."""
    if not settings:
        yield ()
        return
    from ralph.notify.channels import channels  # most projects notify nobody
    from ralph.notify.news import NewsReader
    from ralph.notify.queue import NotificationQueue

    def describe(task: Task) -> tuple[str, tuple[str, ...]]:
        if task.need is None:
            return "", (f"ralph retry {target} {task.id}",)
        return headline(task.need), tuple(answers(target, task))

    queue = NotificationQueue(workspace.root.name, NewsReader(target, describe), channels(settings, workspace))
    try:
        yield (queue.hear,)
    finally:
        await queue.farewell()
        for problem in queue.problems():
            say(f"! {problem}. `ralph notify test` tries it.", fg="yellow", err=True)
