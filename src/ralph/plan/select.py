"""Which task comes next: the one that was begun, then by priority, then as listed."""

from __future__ import annotations

from ralph.plan.model import Plan, Task, TaskState


def ready(plan: Plan) -> Task | None:
    """The next task whose dependencies have passed, or None."""
    passed = {task.id for task in plan if task.state is TaskState.PASSED}
    candidates = [
        task for task in plan if task.state is TaskState.PENDING and all(d in passed for d in task.depends_on)
    ]
    begun = next((task for task in candidates if task.id == plan.current), None)
    return begun or min(candidates, key=lambda task: task.priority, default=None)


def cycle(depends_on: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A cycle among dependencies, first id repeated at its end; empty if there is none."""
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
