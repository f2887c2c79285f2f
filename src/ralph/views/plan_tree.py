"""A plan as a tree: its tasks in waves, what stands in one wave can be done side by side."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.select import waves
from ralph.views import words


def tree(plan: Plan) -> Iterator[tuple[str, TaskState | None]]:
    """The lines, each with the state of the task it tells of; None: a heading."""
    groups = waves(plan)
    yield f"{words.count(len(plan.tasks), 'task')} in {words.count(len(groups), 'wave')}", None
    for number, group in enumerate(groups, 1):
        together = f" ({len(group)} side by side)" if len(group) > 1 else ""
        yield f"wave {number}: {', '.join(task.id for task in group)}{together}", None
        for task in group:
            branch = "└─" if task is group[-1] else "├─"
            yield f"{branch} {words.MARKS[task.state]} {_told(task)}", task.state


def _told(task: Task) -> str:
    needs = f"  (needs {', '.join(task.depends_on)})" if task.depends_on else ""
    how = f"  ({words.in_place(task)})" if words.in_place(task) else ""
    return f"{task.id}  {words.cut(task.title, 90)}{needs}{how}"
