"""`ralph verify`: the gates, without any agent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.config import Config
from ralph.errors import EXIT_INTERRUPTED, EXIT_UNFINISHED, RalphError
from ralph.git import look
from ralph.journal.events import GateEnded, GateStarted, ServiceStarted
from ralph.journal.writer import new_run_id
from ralph.loop.run import Interrupt
from ralph.plan.model import GateResult, Plan, Task
from ralph.process import tree
from ralph.verify import gates
from ralph.verify.gates import Bench
from ralph.verify.services import Services
from ralph.verify.suite import Checked, check
from ralph.views.terminal import TerminalView
from ralph.workflows.feature import FeatureWorkflow
from ralph.workflows.targets import REQUIREMENTS, Target, find, find_task, has_requirements
from ralph.workspace import Feature, Workspace


@click.command(
    name="verify",
    epilog="""\b
Examples:
  ralph verify                       every gate, in this checkout
  ralph verify auth --story US-003   the gates that story has to pass
  ralph verify requirements          every gate, where the application is""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--story", "--task", help="Only the gates of this story or task.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(target: str | None, story: str | None, as_json: bool) -> int:
    """Run the gates on the files as they are in this checkout. No agent, no cache, no change to any plan."""
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    if story and not target:
        raise RalphError("--story needs a target.", remedy=f"For example: ralph verify auth --story {story}")
    name = target or (REQUIREMENTS if has_requirements(workspace) else "")
    found = find(workspace, name) if name else None
    plan = found.needed_plan() if found and target else Plan(target="")
    task = find_task(plan, story) if story else None
    if found:
        _warn_elsewhere(workspace, found)
    workflow = FeatureWorkflow(Feature(name=target or "all", date="0000-00-00"), config, workspace.root)
    folder = found.repo if found else workspace.root
    checked = asyncio.run(_check(workspace, folder, config, workflow, plan, task, as_json))
    if as_json:
        answer = {"green": not checked.reason, "problem": checked.problem, "gates": _rows(checked.results)}
        click.echo(json.dumps(answer, indent=2))
    elif not any(result.required for result in checked.results) and not checked.problem:
        what = "None of the gates is required" if checked.results else "No gates are configured"
        click.secho(f"{what}: nothing was verified.", fg="yellow")
    else:
        _explain(checked)
    return EXIT_UNFINISHED if checked.reason else 0


def _warn_elsewhere(workspace: Workspace, target: Target) -> None:
    here = look.show(workspace.root, "branch", "--show-current").strip() if target.branch else ""
    if target.branch and target.branch.name != here:
        text = f"! {target.name} lives on {target.branch.name}; this checks {here or 'a detached HEAD'}."
        click.secho(text, fg="yellow", err=True)


async def _check(
    workspace: Workspace,
    folder: Path,
    config: Config,
    workflow: FeatureWorkflow,
    plan: Plan,
    task: Task | None,
    as_json: bool,
) -> Checked:
    tree.adopt_orphans()
    run_id, view, interrupt = new_run_id(), TerminalView(quiet=as_json), Interrupt()
    workspace.keep_out_of_git()
    logs = workspace.logs / f"{run_id}-verify"
    logs.mkdir(parents=True)
    bench = Bench(
        cwd=folder,
        logs=logs,
        owner=run_id,
        label="verify",
        started=lambda gate: view(GateStarted(gate=gate.name, command=gate.command)),
        ended=lambda result: view(GateEnded(result=result)),
    )
    services = Services(
        services=config.services,
        cwd=folder,
        logs=logs,
        owner=run_id,
        started=lambda service, s: view(ServiceStarted(service=service.name, ready=service.ready, seconds=s)),
    )
    with interrupt.on_signals():
        async with services:
            is_ui = workflow.is_ui(plan, task)
            work = asyncio.create_task(
                check(workflow.gates(task), workflow.ui_gates(task), services, bench, is_ui=is_ui)
            )
            with interrupt.scope(work):
                try:
                    return await work
                except asyncio.CancelledError:
                    raise RalphError("Interrupted.", code=EXIT_INTERRUPTED) from None


def _explain(checked: Checked) -> None:
    for result in gates.red(checked.results):
        click.echo(f"\n{result.command}: {result.reason}\n{result.output}\n→ {result.log}")
    if checked.problem:
        click.echo(f"\n{checked.problem}")
    if not checked.reason:
        click.secho("All gates are green.", fg="green", bold=True)


def _rows(results: tuple[GateResult, ...]) -> list[dict[str, object]]:
    return [
        {
            "name": result.name,
            "command": result.command,
            "required": result.required,
            "passed": result.passed,
            "seconds": round(result.seconds, 3),
            "reason": result.reason,
            "output": result.output,
            "log": result.log,
        }
        for result in results
    ]
