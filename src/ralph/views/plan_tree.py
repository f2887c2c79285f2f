"""A plan as a tree: its tasks in waves. The tasks of one wave can run in parallel."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.plan.model import Plan, Task
from ralph.plan.select import waves
from ralph.views import words
from ralph.views.lines import say


def draw(plan: Plan) -> None:
    """Print the plan as a tree."""
    for text, task in tree(plan):
        say(text, bold=task is None, fg=words.colour(task) if task else None, hang=5 if task else 2)


def tree(plan: Plan) -> Iterator[tuple[str, Task | None]]:
    """The lines, each with its task; None: a heading."""
    groups = waves(plan)
    yield f"{words.count(len(plan.tasks), 'task')} in {words.count(len(groups), 'wave')}", None
    for number, group in enumerate(groups, 1):
        together = f" ({len(group)} in parallel)" if len(group) > 1 else ""
        yield f"wave {number}: {', '.join(task.id for task in group)}{together}", None
        for task in group:
            branch = "└─" if task is group[-1] else "├─"
            yield f"{branch} {words.mark(task)} {_row(task)}", task


def _row(task: Task) -> str:
    needs = f"  (needs {', '.join(task.depends_on)})" if task.depends_on else ""
    may = f"  (may change {', '.join(task.may)})" if task.may else ""
    standing = task.standing if task.standing in ("accepted", "held", "left out") else ""
    said = ", ".join(filter(None, (standing, words.how(task) or words.without(task))))
    how = f"  ({said})" if said else ""
    return f"{task.id}  {words.cut(task.title, 90)}{needs}{may}{how}"
