"""Drops pending commits of tasks that a person opened again."""

from __future__ import annotations

from ralph.checkout.commit_message import TRAILER
from ralph.checkout.pending import leave_out
from ralph.engine.run import Run
from ralph.plan.model import TaskState


async def drop_reopened(run: Run) -> tuple[str, ...]:
    """Drop the pending commits of open tasks: they have not passed, and the next attempt must make its own changes."""
    if not run.branch or not await run.branch.lines():
        return ()
    opened = [f"{TRAILER}: {run.plan.target}/{task.id}/" for task in run.plan if task.state is TaskState.PENDING]

    def is_open(message: str) -> bool:
        return any(line.startswith(tuple(opened)) for line in message.splitlines()) if opened else False

    found = await leave_out(run.branch, run.own, is_open)
    what = "A task with pending work is open again."
    return (f"{what} Ralph dropped that work and keeps it in refs/ralph/attempts.",) if found else ()
