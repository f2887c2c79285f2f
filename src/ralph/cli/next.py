"""`ralph next`: which task comes next."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.plan.model import Plan, Spec, Task, TaskState
from ralph.plan.select import following
from ralph.views import words
from ralph.views.lines import say
from ralph.workflows.registry import NO_PLANS, Target, everything, find


@click.command(name="next")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(target: str | None, as_json: bool) -> int:
    """Show which story or task of TARGET comes next: a feature, `request`, `requirements`, `specs`, or
    without one all there is."""
    workspace = workspaces.find(Path.cwd())
    found = [find(workspace, target)] if target else everything(workspace)
    plans = [(item, plan) for item in found if (plan := item.plan())]
    if as_json:
        click.echo(json.dumps([_row(item, plan) for item, plan in plans], indent=2))
        return 0
    for item, plan in plans:
        say(f"{item.name}: {_words(item, plan)}")
        for task in plan:
            if task.acceptance:
                say(f"  {words.ACCEPTED_MARK} {task.id} {words.cut(words.accepted(task.acceptance), 300)}", fg="cyan")
    if not plans:
        click.echo(NO_PLANS)
    return 0


def _row(target: Target, plan: Plan) -> dict[str, object]:
    match following(plan):
        case Task() as task:
            upcoming: dict[str, object] | None = {"id": task.id, "title": task.title}
        case Spec() as spec:
            upcoming = {"id": spec.id, "title": spec.name, "commit": True}
        case _:
            upcoming = None
    left = any(task.state is not TaskState.PASSED for task in plan)
    state = "ready" if upcoming else "blocked" if left else "done"
    accepted = [{"id": task.id, **asdict(task.acceptance)} for task in plan if task.acceptance]
    return {
        "target": target.name,
        "workflow": target.workflow,
        "state": state,
        "next": upcoming,
        "accepted": accepted,
    }


def _words(target: Target, plan: Plan) -> str:
    match following(plan):
        case Task() as task:
            where = plan.find_spec(task.spec)
            return f"{task.id} {task.title}" + (f" ({where.name})" if where else "")
        case Spec() as spec:
            return f"the commit of {spec.name}, whose tasks are all settled"
        case _:
            return _rest(target, plan)


def _rest(target: Target, plan: Plan) -> str:
    """What is left when no task can be worked on."""
    if not plan.tasks:
        return f"nothing is planned yet ({'ralph start plan' if target.name == 'specs' else target.command})"
    if plan.failure:
        return f"halted, because {plan.failure.task} failed; `{target.command}` gives it its attempts anew"
    stuck = [task.id for task in plan if task.state is not TaskState.PASSED]
    if stuck:
        return f"nothing can go on; blocked: {', '.join(stuck)} (ralph retry {target.name})"
    is_over = target.workflow != "feature" or plan.review.verified_at
    return "nothing left to do" if is_over else "the final verification"
