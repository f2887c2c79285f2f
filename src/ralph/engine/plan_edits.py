"""A person's own edits of the plan's files during a run: taken over if they are valid, and else kept aside.

In the sandbox nobody else can write there. Without one, an agent or a gate could, so that only what changes while none
of them runs is a person's.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.model import Plan, Task, TaskState

if TYPE_CHECKING:
    from ralph.engine.run import Run

Mark = tuple[int, int, int]
KEPT = "refused-edits"
BY_ROLES = "session"


class PlanEdit(Frozen):
    """What became of an edit."""

    text: str
    is_refused: bool = False


@dataclass
class PlanEdits:
    """Compares the plan's files with how Ralph wrote them last."""

    run: Run
    told: list[PlanEdit] = field(default_factory=list)  # what nobody has said yet
    _written: dict[Path, Mark | None] = field(default_factory=dict)

    def expect(self) -> None:
        """Note that the files are now as Ralph has written them."""
        self._written = {path: _mark(path) for path in self._paths()}

    def are_there(self) -> bool:
        """Whether a person has changed any of the files."""
        return any(_mark(path) != mark for path, mark in self._written.items()) and self._are_persons()

    def onto(self, plan: Plan) -> Plan:
        """Return a plan that is about to be saved, with what a person has changed in the files meanwhile."""
        if not self.are_there():
            return plan
        store = self.run.workflow.store
        try:
            theirs: Plan = copy.copy(store).load()
            can_come_and_go = len(self.run.workflow.plan_paths) == 1
            merged = adopted(plan, theirs, self.run.steering.under_way, can_come_and_go=can_come_and_go)
        except RalphError as error:
            why = " ".join((error.what, *error.details))
            self.told.append(PlanEdit(text=f"Your edit of the plan was refused: {why} {self._kept()}", is_refused=True))
            return plan
        store.load()  # what Ralph does not know is in the files, too
        self.told.append(PlanEdit(text=_told(plan, theirs, merged)))
        return merged

    def take(self) -> list[PlanEdit]:
        """Take over what a person has changed, or write Ralph's files again; return what to say about it.

        The caller must hold the landing's turn.
        """
        run = self.run
        if self.are_there():
            plan = self.onto(run.plan)
            run.plan = run.workflow.store.save(plan) or plan
            run.expect_plan()
        told, self.told = self.told, []
        return told

    def _paths(self) -> Iterator[Path]:
        run = self.run
        if run.own.held and run.workflow.name != BY_ROLES:
            yield from (run.project / path for path in run.workflow.plan_paths)

    def _are_persons(self) -> bool:
        from ralph.engine.containment import is_contained

        return is_contained(self.run) or not self.run.guards

    def _kept(self) -> str:
        """Keep the files as the person left them, and say where."""
        folder = self.run.logs / KEPT
        for path in (path for path, mark in self._written.items() if _mark(path) != mark):
            data = safe_files.read(path)
            if data is not None:
                with safe_files.open_new(folder / path.name) as file:
                    file.write(data)
        return f"The plan is as before. Your edit is in {folder}."


def adopted(plan: Plan, theirs: Plan, under_way: Collection[str] = (), *, can_come_and_go: bool = True) -> Plan:
    """Return the plan with what a person's version asks for; what has been done stays as Ralph knows it."""
    gone = [task for task in plan if theirs.find(task.id) is None]
    new = [task for task in theirs if plan.find(task.id) is None]
    if (gone or new) and not (can_come_and_go and not plan.specs):
        raise RalphError("here tasks come and go only between runs.")
    for task in gone:
        if task.id in under_way or task.attempts:
            raise RalphError(f"{task.id} cannot be removed, because it has been begun. `ralph skip` leaves it out.")
    specs = {spec.id: spec for spec in plan.specs}
    if [*specs] != [spec.id for spec in theirs.specs]:
        raise RalphError("specs come and go only between runs.")
    return replace(
        plan,
        description=theirs.description,
        tasks=tuple(_with_wish(plan.find(task.id) or Task(id=task.id, title=task.title), task) for task in theirs),
        specs=tuple(
            replace(specs[one.id], name=one.name, context=one.context, criteria=one.criteria) for one in theirs.specs
        ),
    )


def _with_wish(known: Task, theirs: Task) -> Task:
    return replace(
        known,
        title=theirs.title,
        description=theirs.description,
        criteria=theirs.criteria,
        tags=theirs.tags,
        priority=theirs.priority,
        depends_on=theirs.depends_on,
        in_order=theirs.in_order,
        race=theirs.race,
        may=theirs.may,
        spec=theirs.spec,
    )


def _told(before: Plan, theirs: Plan, after: Plan) -> str:
    """Say which tasks are different now, and which states were not taken over."""
    names = [task.id for task in after if (known := before.find(task.id)) is None or known.wish != task.wish]
    names += [task.id for task in before if after.find(task.id) is None]
    what = f"in {', '.join(names)}" if names else "outside of its tasks"
    marked = [task.id for task in theirs if task.state is not _state_in(after, task.id)]
    own = f" The state of {', '.join(marked)} stays as it was: use `ralph accept`, `skip` or `retry`." if marked else ""
    return f"Your edit of the plan is taken over, {what}.{own}"


def _state_in(plan: Plan, task_id: str) -> TaskState | None:
    found = plan.find(task_id)
    return found.state if found else None


def _mark(path: Path) -> Mark | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
