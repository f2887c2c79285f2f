"""The list of tasks: what needs a person first, then what is being worked on, what waits, and what is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.frozen import Frozen
from ralph.plan.model import Plan, Task, TaskState
from ralph.text import one_line
from ralph.views import words
from ralph.views.run_line import about
from ralph.views.watching.story import Story

NEEDS, WORKING, BLOCKED, WAITING, DONE = range(5)
COLOURS = {NEEDS: "yellow", WORKING: "cyan", BLOCKED: "red", WAITING: "", DONE: "green"}


class TaskRow(Frozen):
    """One line of the list."""

    work: str
    title: str
    mark: str
    group: int
    remark: str = ""

    @property
    def colour(self) -> str:
        return COLOURS[self.group]


def rows(
    plan: Plan | None, story: Story, now: float, query: str = "", needs: Mapping[str, int] | None = None
) -> list[TaskRow]:
    """Return all tasks that match, and beside them whatever else is under way; `needs`: the place of each that
    needs a person."""
    needs = needs or {}
    found = [_of_task(task, story, now, needs) for task in plan or ()]
    known = {row.work for row in found}
    found += [row for row in _others(story, now) if row.work not in known]
    wanted = query.casefold()
    chosen = [row for row in found if wanted in row.work.casefold() or wanted in row.title.casefold()]
    # within a group the plan's order, except for what needs a person
    return sorted(chosen, key=lambda row: (row.group, needs.get(row.work, 0) if row.group == NEEDS else 0))


def _of_task(task: Task, story: Story, now: float, needs: Mapping[str, int]) -> TaskRow:
    group, mark, remark = _standing(task, story, now, needs)
    return TaskRow(work=task.id, title=one_line(task.title), mark=mark, group=group, remark=remark)


def _standing(task: Task, story: Story, now: float, needs: Mapping[str, int]) -> tuple[int, str, str]:
    if task.id in story.working:
        return WORKING, "▶", _doing(story, task.id, now)
    if task.id in needs:
        return NEEDS, "!", "needs you"
    if task.state is TaskState.BLOCKED:
        return BLOCKED, words.mark(task), task.standing
    if task.state is TaskState.PASSED:
        return DONE, words.mark(task), ""
    return WAITING, words.mark(task), f"{words.count(task.failures, 'retry')}" if task.failures else ""


def _others(story: Story, now: float) -> Iterator[TaskRow]:
    """What is no task of the plan: its set-up, its final verification, planning."""
    for work, attempts in story.by_work.items():
        last = attempts[-1]
        is_working = work in story.working
        group = WORKING if is_working else DONE
        mark = "▶" if is_working else "·"
        yield TaskRow(
            work=work, title=one_line(last.title), mark=mark, group=group,
            remark=_doing(story, work, now) if is_working else "",
        )  # fmt: skip


def _doing(story: Story, work: str, now: float) -> str:
    attempt = story.working[work]
    return f"{attempt.step or 'begins'} {about(now - attempt.step_began)}"
