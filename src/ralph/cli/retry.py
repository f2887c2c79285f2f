"""`ralph retry`: lets blocked tasks, the set-up or the final verification be tried again."""

from __future__ import annotations

from dataclasses import replace

import click

from ralph.cli.complete import targets
from ralph.cli.complete import tasks as task_ids
from ralph.engine.settle import reopen_review, retry_manually, retry_spec_manually
from ralph.errors import RalphError
from ralph.plan.model import Plan, SetupState, TaskState
from ralph.views.lines import say
from ralph.workflows.manual_edits import change_plan
from ralph.workflows.registry import find_task


@click.command(
    name="retry",
    epilog="""\b
Examples:
  ralph retry auth            every blocked task, and the final verification
  ralph retry auth US-003     this task, whatever its state
  ralph retry requirements    every failed task, and the set-up""",
)
@click.argument("target", shell_complete=targets)
@click.argument("tasks", nargs=-1, shell_complete=task_ids)
def command(target: str, tasks: tuple[str, ...]) -> int:
    """Retry TASKS of TARGET (a feature, `request`, `requirements`, `specs`) with all their attempts. Without TASKS,
    retry every blocked task."""
    chosen: list[str] = []

    def again(plan: Plan, _: str) -> Plan:
        blocked = [task.id for task in plan if task.state is TaskState.BLOCKED and not task.left_out]
        chosen.extend([find_task(plan, task).id for task in tasks] or blocked)
        if plan.setup.failures:
            chosen.append("the set-up")
        for spec in plan.specs:
            if spec.failures and not tasks:
                plan = retry_spec_manually(plan, spec.id)
                chosen.append(f"the commit of {spec.id}")
        if not chosen and plan.review.failures:
            chosen.append("the final verification")
        if not chosen:
            raise RalphError(f"Nothing in {target} is blocked.", remedy=f"See `ralph status {target}`.")
        for task_id in chosen:
            plan = retry_manually(plan, task_id)
        return reopen_review(replace(plan, setup=SetupState(attempts=plan.setup.attempts, done=plan.setup.done)))

    found = change_plan(target, again)
    say(f"Reset {', '.join(chosen)}. Run `{found.command}` to retry.")
    return 0
