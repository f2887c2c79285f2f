"""The session's router: from the marks in progress.md and the file names in its folder to the next call. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from ralph.frozen import Frozen
from ralph.plan.work import Duty

PLANNING_TASKS = ("plan-init", "plan-brainstorm", "plan-research", "plan-breakdown")
REPORT = re.compile(r"tasks\.(task-.+?)-report(?:-r(\d+))?\.md")
REVIEW = re.compile(r"progress\.review\[?(\d+)\]?\.md")


class Mark(Enum):
    """The state of an item in progress.md."""

    TODO = " "
    BEGUN = "/"
    TO_REVIEW = "P"
    DONE = "x"


class SessionState(Enum):
    """The state of a session."""

    INITIALIZING = "INITIALIZING"
    PLANNING = "PLANNING"
    EXECUTING = "EXECUTING"
    REVIEWING = "REVIEWING"
    COMPLETE = "COMPLETE"


class Mode(Enum):
    """What a role is called for."""

    INITIALIZE = "INITIALIZE"
    UPDATE = "UPDATE"
    TASK_BREAKDOWN = "TASK_BREAKDOWN"
    BRAINSTORM = "brainstorm"
    RESEARCH = "research"
    EXECUTE = "EXECUTE"
    TASK_REVIEW = "TASK_REVIEW"
    SESSION_REVIEW = "SESSION_REVIEW"


ROLE = {
    Mode.INITIALIZE: "planner",
    Mode.UPDATE: "planner",
    Mode.TASK_BREAKDOWN: "planner",
    Mode.BRAINSTORM: "questioner",
    Mode.RESEARCH: "questioner",
    Mode.EXECUTE: "executor",
    Mode.TASK_REVIEW: "reviewer",
    Mode.SESSION_REVIEW: "reviewer",
}
PLANNING_MODES = {
    "plan-init": Mode.INITIALIZE,
    "plan-brainstorm": Mode.BRAINSTORM,
    "plan-research": Mode.RESEARCH,
    "plan-breakdown": Mode.TASK_BREAKDOWN,
}


class ProgressItem(Frozen):
    """One line of progress.md that has a mark."""

    id: str
    mark: Mark
    title: str = ""
    line: int = 0

    @property
    def is_planning(self) -> bool:
        return self.id.startswith("plan-")

    @property
    def is_task(self) -> bool:
        return self.id.startswith("task-")

    @property
    def is_open(self) -> bool:
        return self.mark in (Mark.TODO, Mark.BEGUN)


class RoleCall(Frozen):
    """Which role comes next, and what for."""

    mode: Mode
    task: str = ""  # the item it is about; empty: the whole session
    number: int = 0  # a cycle, an attempt or an iteration

    @property
    def role(self) -> str:
        return ROLE[self.mode]

    @property
    def duty(self) -> Duty:
        """The same as plain data."""
        return Duty(mode=self.mode.value, task=self.task, number=self.number)

    @classmethod
    def of(cls, duty: Duty) -> RoleCall:
        return cls(mode=Mode(duty.mode), task=duty.task, number=duty.number)


class Stuck(Frozen):
    """No role can be called, and why."""

    reason: str


def infer(items: tuple[ProgressItem, ...] | None) -> SessionState:
    """The state, from the marks alone; without progress.md there is no session yet."""
    if items is None:
        return SessionState.INITIALIZING
    if any(item.mark is Mark.TO_REVIEW for item in items):
        return SessionState.REVIEWING
    if any(item.is_planning and item.is_open for item in items):
        return SessionState.PLANNING
    if any(item.is_task and item.is_open for item in items):
        return SessionState.EXECUTING
    if all(item.mark is Mark.DONE for item in items):
        return SessionState.COMPLETE
    return SessionState.EXECUTING


def route(items: tuple[ProgressItem, ...] | None, names: Iterable[str], *, cycles: int = 0) -> RoleCall | Stuck:
    """The next call: `names` are the files of the session's folder, `cycles` those of plan.questions.md."""
    listing = tuple(names)
    match infer(items):
        case SessionState.INITIALIZING:
            return RoleCall(mode=Mode.INITIALIZE, task="plan-init")
        case SessionState.PLANNING:
            return _planning(items or (), cycles)
        case SessionState.REVIEWING:
            return _reviewing(items or (), listing)
        case SessionState.COMPLETE:
            return RoleCall(mode=Mode.SESSION_REVIEW, number=next_iteration(listing))
        case _:
            return _executing(items or (), listing)


def execute(task: str, names: Iterable[str]) -> RoleCall:
    """A task's next attempt; its number comes from the existing reports."""
    return RoleCall(mode=Mode.EXECUTE, task=task, number=last_report(task, names) + 1)


def last_report(task: str, names: Iterable[str]) -> int:
    """The number of a task's newest report; 0: there is none."""
    found = (REPORT.fullmatch(name) for name in names)
    return max((int(match[2] or 1) for match in found if match and match[1] == task), default=0)


def report_name(task: str, number: int) -> str:
    return f"tasks.{task}-report.md" if number <= 1 else f"tasks.{task}-report-r{number}.md"


def next_iteration(names: Iterable[str]) -> int:
    return last_iteration(names) + 1


def last_iteration(names: Iterable[str]) -> int:
    found = (REVIEW.fullmatch(name) for name in names)
    return max((int(match[1]) for match in found if match), default=0)


def review_name(iteration: int) -> str:
    return f"progress.review{iteration}.md"


def _planning(items: tuple[ProgressItem, ...], cycles: int) -> RoleCall | Stuck:
    item = next(item for item in items if item.is_planning and item.is_open)
    mode = PLANNING_MODES.get(item.id)
    match mode:
        case None:
            known = ", ".join(PLANNING_TASKS)
            return Stuck(reason=f"progress.md, line {item.line}: {item.id} is not a planning task ({known}).")
        case Mode.INITIALIZE:
            return Stuck(reason=f"progress.md, line {item.line}: plan-init is open, but progress.md already exists.")
        case Mode.BRAINSTORM:
            return RoleCall(mode=mode, task=item.id, number=cycles + 1)
        case Mode.RESEARCH:  # it answers the questions of the newest cycle
            return RoleCall(mode=mode, task=item.id, number=max(cycles, 1))
        case _:
            return RoleCall(mode=mode, task=item.id)


def _executing(items: tuple[ProgressItem, ...], names: tuple[str, ...]) -> RoleCall | Stuck:
    item = next((item for item in items if item.is_task and item.is_open), None)
    if item is None:
        odd = next((item for item in items if item.mark is not Mark.DONE), None)
        where = f", line {odd.line}: {odd.id} is neither plan-… nor task-…" if odd else " names no task"
        return Stuck(reason=f"progress.md{where}.")
    return execute(item.id, names)


def _reviewing(items: tuple[ProgressItem, ...], names: tuple[str, ...]) -> RoleCall | Stuck:
    item = next(item for item in items if item.mark is Mark.TO_REVIEW)
    if not item.is_task:
        return Stuck(
            reason=f"progress.md, line {item.line}: {item.id} is marked [P], but only a task-… can be reviewed."
        )
    return RoleCall(mode=Mode.TASK_REVIEW, task=item.id, number=last_report(item.id, names))
