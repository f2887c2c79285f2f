"""What passed in a killed run and is red afterwards is open again, with the spec it belongs to."""

from __future__ import annotations

from ralph.engine.recovery import reopened
from ralph.plan.model import Plan, Spec, Task, TaskResult, TaskState


def test_a_closed_spec_is_open_again_with_its_tasks() -> None:
    passed = TaskResult(completed_at="2026-01-01T00:00:00.000Z", commit="c", summary="")
    tasks = tuple(
        Task(id=name, title=name, spec=spec, state=TaskState.PASSED, result=passed)
        for name, spec in (("a-1", "a"), ("b-1", "b"))
    )
    specs = tuple(Spec(id=name, name=name, state=TaskState.PASSED) for name in ("a", "b"))
    plan = Plan(target="specs", tasks=tasks, specs=specs)

    after = reopened(plan, [tasks[0]], "red")

    assert [task.state for task in after] == [TaskState.PENDING, TaskState.PASSED]
    assert [spec.state for spec in after.specs] == [TaskState.PENDING, TaskState.PASSED]
    first = after.find("a-1")
    assert first and first.result is None and "red" in first.notes
