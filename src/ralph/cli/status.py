"""`ralph status`: where every story stands, read from where the truth is."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import features
from ralph.errors import RalphError
from ralph.plan.model import Plan, Task, TaskState
from ralph.stores import lock
from ralph.stores.prd import PrdStore
from ralph.views import words
from ralph.workflows.features import Located, everything, locate
from ralph.workspace import Workspace


@click.command(
    name="status",
    epilog="""\b
Examples:
  ralph status                       every feature of this project
  ralph status auth                  every story of one feature
  ralph status auth --task US-003    all there is to know about one story""",
)
@click.argument("feature", required=False, shell_complete=features)
@click.option("--task", help="Show one story with its notes and results.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(feature: str | None, task: str | None, as_json: bool) -> int:
    """Show where FEATURE's stories stand, or, without one, every feature."""
    workspace = workspaces.find(Path.cwd())
    if task and not feature:
        raise RalphError("--task needs a feature.", remedy=f"For example: ralph status auth --task {task}")
    if not feature and not as_json:
        return _show_all(workspace)
    found = [locate(workspace, feature)] if feature else everything(workspace)
    plans = [(located, read(workspace, located)) for located in found]
    if as_json:
        click.echo(json.dumps([_as_json(located, plan) for located, plan in plans], indent=2))
    else:
        located, plan = plans[0]
        if plan is None:
            raise RalphError(f"{feature!r} has no prd.json yet.", remedy=f"Finalize its PRD: ralph prd {feature}")
        _show_task(plan, task) if task else _show(workspace, located, plan)
    return 0


def _show_all(workspace: Workspace) -> int:
    """A line for each feature; one that cannot be read does not hide the others."""
    found = everything(workspace)
    for located in found:
        try:
            click.echo(_overview(located, read(workspace, located)))
        except RalphError as error:
            click.secho(f"{located.feature.name:20} {error.what} See `ralph validate`.", fg="red")
    if not found:
        click.echo("No features yet. Plan one with `ralph prd NAME`.")
    return 0


def read(workspace: Workspace, located: Located) -> Plan | None:
    """A feature's plan; None while it has only a draft."""
    data = located.read(workspace.root, located.feature.prd_json)
    if data is None:
        return None
    path = Path(located.feature.prd_json)
    return PrdStore(path, located.feature.name).load(data)


def _overview(located: Located, plan: Plan | None) -> str:
    name = located.feature.name
    if plan is None:
        return f"{name:20} PRD drafted, not finalized"
    return f"{name:20} {_progress(plan)}"


def _progress(plan: Plan) -> str:
    passed, total = plan.count(TaskState.PASSED), len(plan.tasks)
    blocked = plan.count(TaskState.BLOCKED)
    parts = [f"{words.bar(passed, total)} {passed}/{total} passed"]
    if blocked:
        parts.append(f"{blocked} blocked")
    if plan.review.verified_at:
        parts.append("verified")
    elif passed == total:
        parts.append("not yet verified")
    if passed and not any(task.result and task.result.gates for task in plan):
        parts.append("UNVERIFIED: no gates")
    return ", ".join(parts)


def _show(workspace: Workspace, located: Located, plan: Plan) -> None:
    click.secho(f"{plan.target}: {plan.description}" if plan.description else plan.target, bold=True)
    click.echo(f"  {_progress(plan)}")
    click.echo(f"  branch {plan.branch}" + ("" if located.branch else " (not made yet)"))
    owner = lock.holder(workspace.lock)
    if owner:
        click.secho(f"  run {owner.run} is at work on {owner.target} (process {owner.pid})", fg="cyan")
    for task in plan:
        click.secho(f"  {words.MARKS[task.state]} {task.id:10} {task.title}", fg=words.COLOURS[task.state], nl=False)
        click.echo(_remark(plan, task, "now" if owner and owner.target == plan.target else "begun"))
    if plan.review.notes:
        click.echo(f"  final verification: {words.cut(words.first_line(plan.review.notes), 160)}")


def _remark(plan: Plan, task: Task, begun: str) -> str:
    if task.state is TaskState.PASSED and task.result:
        return click.style(f"  {task.result.commit[:10]}", dim=True)
    current = begun if plan.current == task.id else ""
    tried = f"{task.failures} failed" if task.failures else ""
    why = words.cut(words.first_line(task.notes), 120)
    remark = ", ".join(filter(None, (current, tried)))
    return "".join((f"  ({remark})" if remark else "", f"  {why}" if why else ""))


def _show_task(plan: Plan, task_id: str) -> None:
    task = find_task(plan, task_id)
    click.secho(f"{task.id} {task.title}", bold=True)
    click.echo(f"  {words.state_of(task)} · attempts {task.attempts}")
    if task.description:
        click.echo(f"  {task.description}")
    for criterion in task.criteria:
        click.echo(f"  - {criterion}")
    if task.result:
        click.echo(f"  commit {task.result.commit[:10]}: {task.result.summary}")
        for gate in task.result.gates:
            click.echo(f"  {'✓' if gate.passed else '✗'} {gate.command} · {words.duration(gate.seconds)}")
    if task.notes:
        click.echo("\n" + task.notes)


def find_task(plan: Plan, task_id: str) -> Task:
    """A story by its id, or an error that names the nearest."""
    from ralph.validation import nearest

    task = plan.find(task_id)
    if task is None:
        names = [task.id for task in plan]
        raise RalphError(
            f"{plan.target} has no story {task_id!r}{nearest(task_id, names)}",
            remedy=f"See them with `ralph status {plan.target}`.",
        )
    return task


def _as_json(located: Located, plan: Plan | None) -> dict[str, object]:
    if plan is None:
        return {"feature": located.feature.name, "folder": located.feature.folder, "finalized": False}
    return {
        "feature": located.feature.name,
        "folder": located.feature.folder,
        "finalized": True,
        "branch": plan.branch,
        "where": located.where,
        "current": plan.current,
        "passed": plan.count(TaskState.PASSED),
        "blocked": plan.count(TaskState.BLOCKED),
        "verifiedAt": plan.review.verified_at or None,
        "stories": [
            {
                "id": task.id,
                "title": task.title,
                "state": task.state.value,
                "retries": task.failures,
                "attempts": task.attempts,
                "commit": task.result.commit if task.result else None,
                "notes": task.notes,
            }
            for task in plan
        ],
    }
