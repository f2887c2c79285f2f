"""What a person decides about a task that waits for them, as pure functions."""

from __future__ import annotations

from dataclasses import replace

from ralph.engine.settle import open_spec_of, with_new_attempts, without_failure_of
from ralph.plan.acceptance_tests import ABOUT_TESTS, ACCEPTANCE
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Need, NeedKind, Plan, Task

LEAVES_OUT = (NeedKind.BLOCKED, NeedKind.CONFLICT, NeedKind.REVIEW)
"""What a task waits for if --skip means the task itself, and no gate."""


def decide(plan: Plan, task_id: str, decision: TaskDecision, note: str = "") -> Plan:
    """Apply a person's decision about a task that needs one."""

    def decided(task: Task) -> Task:
        assert task.need and decision in FITTING[task.need.kind], "the caller has checked"
        return _decided(task, task.need, decision, note)

    return open_spec_of(without_failure_of(plan.change(task_id, decided), task_id), task_id)


def _decided(task: Task, need: Need, decision: TaskDecision, note: str) -> Task:
    match decision:
        case TaskDecision.APPROVE:
            concerns = tuple(dict.fromkeys((*task.approved, *need.concerns)))
            return _to_land(replace(task, approved=concerns), need)
        case TaskDecision.SKIP if need.kind in LEAVES_OUT:
            return replace(task, need=None, left_out=True)
        case TaskDecision.SKIP:
            waived = replace(task, waived=tuple(dict.fromkeys((*task.waived, need.gate))))
            if need.kind is NeedKind.RED_BEFORE:  # its agent had said that the work is done
                return _to_land(waived, need)
            if need.gate == ACCEPTANCE:
                return _tried_again(waived, "The acceptance tests are not required for this task.")
            return _tried_again(waived, f"The gate `{need.gate}` is not required for this task.")
        case TaskDecision.GATE_IS_RIGHT if need.gate == ACCEPTANCE:
            return _tried_again(task, "The acceptance tests are right, and this task must make them pass.")
        case TaskDecision.GATE_IS_RIGHT:
            return _tried_again(task, f"The gate `{need.gate}` is right, and this task must make it pass.")
        case TaskDecision.NOTE if need.gate == ACCEPTANCE:  # the tester writes them again
            return _tried_again(task, f"{ABOUT_TESTS}{note}")
        case TaskDecision.NOTE:
            return _tried_again(task, note)


def _to_land(task: Task, need: Need) -> Task:
    """The next run lands its work without an agent."""
    again = with_new_attempts(task)
    return replace(again, need=Need(kind=NeedKind.LANDING, why=need.why), notes="")


def _tried_again(task: Task, decision: str) -> Task:
    """An agent tries again and is told what the person decided."""
    return replace(with_new_attempts(task), need=None, decisions=(*task.decisions, decision))
