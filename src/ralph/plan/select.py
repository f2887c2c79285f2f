"""Selects the next task: the one that was begun, then by priority, then in the order of the plan."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.errors import RalphError
from ralph.plan.model import Plan, Spec, Task, TaskState
from ralph.validation import nearest


def find_task(plan: Plan, task_id: str) -> Task:
    """A task by its id, or an error that suggests the nearest id."""
    task = plan.find(task_id)
    if task is None:
        names = [task.id for task in plan]
        raise RalphError(
            f"{plan.target} has no task {task_id!r}{nearest(task_id, names) or '.'}",
            remedy=f"`ralph status {plan.target}` lists its tasks.",
        )
    return task


def ready(plan: Plan, running: frozenset[str] = frozenset()) -> Task | None:
    """Return the next task that can start beside those that are running; None if there is none."""
    candidates = list(_startable(plan, running))
    begun = next((task for task in candidates if task.id == plan.current), None)
    return begun or min(candidates, key=lambda task: task.priority, default=None)


def _startable(plan: Plan, running: frozenset[str]) -> Iterator[Task]:
    passed = {task.id for task in plan if task.state is TaskState.PASSED}
    after_running = False
    for task in plan:
        if task.id in running:
            after_running = True
        elif task.in_order and after_running:
            continue
        elif task.state is TaskState.PENDING and passed.issuperset(task.depends_on):
            yield task


def following(plan: Plan, running: frozenset[str] = frozenset(), *, max_failures: int = 0) -> Task | Spec | None:
    """Return what can start in a plan with specs: a task, or a spec whose tasks are all settled; None if nothing can.

    Each spec has at most one piece of work at a time. `max_failures`: a spec whose commit failed so often is stuck.
    """
    passed = {spec.id for spec in plan.specs if spec.state is TaskState.PASSED}
    after_other = False  # an earlier spec is running or stuck
    for spec in open_specs(plan):
        tasks = plan.of_spec(spec.id)
        is_stuck = bool(max_failures) and spec.failures >= max_failures and _is_settled(tasks)
        if is_stuck or not running.isdisjoint((spec.id, *(task.id for task in tasks))):
            after_other = True
        elif passed.issuperset(spec.depends_on) and not (spec.in_order and after_other):
            pending = [task for task in tasks if task.state is TaskState.PENDING]
            return next((task for task in pending if task.id == plan.current), pending[0] if pending else spec)
    return None


def _is_settled(tasks: tuple[Task, ...]) -> bool:
    return all(task.state is not TaskState.PENDING for task in tasks)


def open_specs(plan: Plan) -> list[Spec]:
    """Return the open specs: first the one that was begun, then those with uncommitted work, then by priority."""
    waiting = [spec for spec in plan.specs if spec.state is TaskState.PENDING]
    begun = plan.find(plan.current) if plan.current else None
    at = begun.spec if begun and begun.state is TaskState.PENDING else ""
    return sorted(waiting, key=lambda spec: (spec.id != at, not _has_uncommitted(plan, spec), spec.priority))


def _has_uncommitted(plan: Plan, spec: Spec) -> bool:
    since = spec.result.completed_at if spec.result else ""
    return any(task.result and task.result.completed_at > since for task in plan.of_spec(spec.id))


def waves(plan: Plan) -> list[tuple[Task, ...]]:
    """Group the tasks into waves that can run in parallel: each needs only tasks of earlier waves."""
    groups: list[tuple[Task, ...]] = []
    parts = {part.id: part for part in (sorted(plan.specs, key=lambda spec: spec.priority) or plan.tasks)}
    left = {name: [part] if isinstance(part, Task) else [*plan.of_spec(name)] for name, part in parts.items()}
    left = {name: tasks for name, tasks in left.items() if tasks}
    while left:
        wave: list[str] = []
        for name in left:
            part = parts[name]
            if left.keys().isdisjoint(part.depends_on) and not (part.in_order and wave):
                wave.append(name)
        assert wave, "a plan has no dependency cycles"
        groups.append(tuple(left[name].pop(0) for name in wave))
        left = {name: tasks for name, tasks in left.items() if tasks}
    return groups


def cycle(depends_on: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a dependency cycle, with its first id repeated at the end; empty if there is none."""
    done: set[str] = set()
    for start in depends_on:
        path: list[str] = []
        trail: list[tuple[str, int]] = [(start, 0)]
        while trail:
            node, position = trail.pop()
            if position == 0:
                if node in done:
                    continue
                if node in path:
                    return (*path[path.index(node) :], node)
                path.append(node)
            following = depends_on.get(node, ())
            if position < len(following):
                trail += [(node, position + 1), (following[position], 0)]
            else:
                done.add(node)
                path.pop()
    return ()
