"""Selects the next task: the one that was begun, then by priority, then in the order of the plan."""

from __future__ import annotations

from ralph.plan.model import Plan, Spec, Task, TaskState


def ready(plan: Plan, running: frozenset[str] = frozenset()) -> Task | None:
    """Return the next task that is not running and whose dependencies have passed; None if there is none."""
    passed = {task.id for task in plan if task.state is TaskState.PASSED}
    waiting = [task for task in plan if task.state is TaskState.PENDING and task.id not in running]
    candidates = [task for task in waiting if all(name in passed for name in task.depends_on)]
    begun = next((task for task in candidates if task.id == plan.current), None)
    turn = {spec.id: number for number, spec in enumerate(open_specs(plan))}
    last = len(turn)
    return begun or min(candidates, key=lambda task: (turn.get(task.spec, last), task.priority), default=None)


def following(plan: Plan) -> Task | Spec | None:
    """Return the next task, or the current spec if all of its tasks are settled."""
    task = ready(plan)
    spec = next(iter(open_specs(plan)), None)
    if spec is None or (task and (task.id == plan.current or task.spec == spec.id)):
        return task
    return spec


def open_specs(plan: Plan) -> list[Spec]:
    """Return the open specs: first those with uncommitted work, then by priority."""
    waiting = [spec for spec in plan.specs if spec.state is TaskState.PENDING]
    return sorted(waiting, key=lambda spec: (not _has_uncommitted(plan, spec), spec.priority))


def _has_uncommitted(plan: Plan, spec: Spec) -> bool:
    since = spec.result.completed_at if spec.result else ""
    return any(task.result and task.result.completed_at > since for task in plan.of_spec(spec.id))


def waves(plan: Plan) -> list[tuple[Task, ...]]:
    """Group the tasks into waves that can run in parallel: each needs only tasks of earlier waves."""
    level: dict[str, int] = {}
    left = list(plan.tasks)
    while left:
        now = [task for task in left if all(name in level for name in task.depends_on)]
        assert now, "a plan has no dependency cycles"
        level |= {task.id: 1 + max((level[name] for name in task.depends_on), default=0) for task in now}
        left = [task for task in left if task.id not in level]
    groups = range(1, max(level.values(), default=0) + 1)
    return [tuple(task for task in plan if level[task.id] == number) for number in groups]


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
