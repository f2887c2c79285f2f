"""`ralph next`: which story comes next."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import features
from ralph.cli.status import read
from ralph.plan.model import Plan, TaskState
from ralph.plan.select import ready
from ralph.workflows.features import everything, locate


@click.command(name="next")
@click.argument("feature", required=False, shell_complete=features)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(feature: str | None, as_json: bool) -> int:
    """Show which story of FEATURE, or of every feature, comes next."""
    workspace = workspaces.find(Path.cwd())
    found = [locate(workspace, feature)] if feature else everything(workspace)
    plans = [plan for located in found if (plan := read(workspace, located))]
    chosen = [(plan.target, ready(plan)) for plan in plans]
    if as_json:
        rows = [
            {"feature": name, "next": None if task is None else {"id": task.id, "title": task.title}}
            for name, task in chosen
        ]
        click.echo(json.dumps(rows, indent=2))
        return 0
    for plan, (name, task) in zip(plans, chosen, strict=True):
        click.echo(f"{name}: {task.id} {task.title}" if task else f"{name}: {_rest(plan)}")
    if not chosen:
        click.echo("No finalized features. Plan one with `ralph prd NAME`.")
    return 0


def _rest(plan: Plan) -> str:
    """What is left when no story can be worked on."""
    stuck = [task.id for task in plan if task.state is not TaskState.PASSED]
    if stuck:
        return f"nothing can go on; blocked: {', '.join(stuck)} (ralph retry {plan.target})"
    return "nothing left to do" if plan.review.verified_at else "the final verification"
