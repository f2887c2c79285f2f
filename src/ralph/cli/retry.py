"""`ralph retry`: blocked stories, or the final verification, are tried again from the start."""

from __future__ import annotations

import click

from ralph.cli.complete import features
from ralph.cli.status import find_task
from ralph.errors import RalphError
from ralph.loop.settle import reopen_review, retry_by_hand
from ralph.plan.model import Plan, TaskState
from ralph.workflows.by_hand import change_plan


@click.command(
    name="retry",
    epilog="""\b
Examples:
  ralph retry auth            every blocked story, and the final verification
  ralph retry auth US-003     this story, whatever its state""",
)
@click.argument("feature", shell_complete=features)
@click.argument("stories", nargs=-1)
def command(feature: str, stories: tuple[str, ...]) -> int:
    """Have STORIES of FEATURE tried again with all their attempts; without any: every blocked one."""
    chosen: list[str] = []

    def again(plan: Plan, _: str) -> Plan:
        blocked = [task.id for task in plan if task.state is TaskState.BLOCKED]
        chosen.extend([find_task(plan, story).id for story in stories] or blocked)
        if not chosen and not plan.review.failures:
            raise RalphError(f"Nothing in {feature} is blocked.", remedy=f"See `ralph status {feature}`.")
        for task_id in chosen:
            plan = plan.change(task_id, retry_by_hand)
        return reopen_review(plan)

    change_plan(feature, again)
    what = ", ".join(chosen) or "The final verification"
    click.echo(f"{what}: to be tried again. `ralph run {feature}` does it.")
    return 0
