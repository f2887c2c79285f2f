"""Tells a person what happens in a run, as the configuration says, and afterwards what could not be delivered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ralph.config_notify import NotifySettings
from ralph.journal.writer import Listener
from ralph.plan.model import Plan, Task
from ralph.views import inbox
from ralph.views.lines import say
from ralph.workflows.registry import find
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

    found = find(workspace, target)

    def describe(task: Task) -> inbox.InboxItem | None:
        plan = Plan(target=target, tasks=(task,))
        items = inbox.of_plan(target, plan, found.command, by_roles=bool(found.marked_by))
        return next((item for item in items if item.task), None)

    queue = NotificationQueue(workspace.root.name, NewsReader(target, describe), channels(settings, workspace))
    try:
        yield (queue.hear,)
    finally:
        await queue.farewell()
        for problem in queue.problems():
            say(f"! {problem}. `ralph notify test` tries it.", fg="yellow", err=True)
