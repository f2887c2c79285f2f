"""`ralph verify`: runs the gates and checks the pages, without an agent."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path

import click

from ralph import config_notify, safe_files
from ralph import workspace as workspaces
from ralph.agent.state import every_state
from ralph.cli.complete import targets, tasks
from ralph.cli.trusting import load_trusted, trust_option
from ralph.config import NAME, Config
from ralph.engine.interrupt import Interrupt
from ralph.engine.orphans import end_verifying, verifying
from ralph.engine.ticking import ticking
from ralph.engine.workflow import Workflow
from ralph.errors import EXIT_INTERRUPTED, EXIT_UNFINISHED, RalphError
from ralph.git import read as git_read
from ralph.integrations import stop_hook
from ralph.journal.events import Event, GateEnded, GateStarted, HostRefused, Noted, PageChecked, ServiceStarted
from ralph.journal.writer import new_run_id
from ralph.plan.model import Gate, GateResult, Plan, Task
from ralph.plan.select import find_task
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.process.warden import guarding
from ralph.sandbox.sandbox import opened
from ralph.trust.programs import CHECKS
from ralph.verify import gates, pages
from ralph.verify.browser import Browser
from ralph.verify.gate_list import missed, red
from ralph.verify.gates import GateRun
from ralph.verify.pages import PageVisit, ScreenshotFolder
from ralph.verify.services import Services
from ralph.verify.suite import SuiteResult, UiWork, check
from ralph.verify.urls import pages_in
from ralph.views.lines import say, say_json
from ralph.views.terminal import TerminalView
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.registry import NAMELESS, WORKFLOWS, find, find_by_task, workflow_of
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace


@click.command(
    name="verify",
    epilog="""\b
Examples:
  ralph verify                       every gate, in this checkout
  ralph verify auth --task US-003    the gates that this task must pass
  ralph verify --task US-003         the same, if only one plan has this task
  ralph verify auth --headed         with the browser on your screen
  ralph verify requirements          every gate, in the application's folder""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--story", "--task", shell_complete=tasks, help="Only the gates and pages of this task.")
@click.option("--headed", is_flag=True, help="Show the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@trust_option
@click.option("--stop-hook", "is_hook", is_flag=True, hidden=True, help="Answer Claude Code's Stop hook.")
def command(target: str | None, story: str | None, headed: bool, as_json: bool, is_hook: bool) -> int:
    """Run the gates and check the pages of UI tasks, on the files as they are in this checkout. This calls no
    agent, uses no cache, and changes no plan."""
    if is_hook and "RALPH_RUN" in os.environ:
        return 0  # an agent of a run: its work is verified when it has ended
    workspace = workspaces.find(Path.cwd())
    config = load_trusted(workspace, kinds=CHECKS)
    if headed:
        config = replace(config, browser=replace(config.browser, headless=False))
    if story and not target:
        target = find_by_task(workspace, story).name
    nameless = WORKFLOWS[NAMELESS].targets.everything(workspace)
    found = find(workspace, target) if target else nameless[0] if nameless else None
    plan = found.needed_plan() if found and target else Plan(target="")
    task = find_task(plan, story) if story else None
    if found:
        _warn_elsewhere(workspace, found)
    every = _EveryGate(config, workspace.root)
    workflow = workflow_of(found).open(workspace, config, found) if found else every
    folder = found.repo if found else workspace.root
    wanted = _visible_gates(workflow.gates(task))
    checked = asyncio.run(_check(workspace, folder, config, workflow, wanted, plan, task, as_json or is_hook))
    is_verified = bool(checked.pages) or any(result.required for result in checked.results)
    if is_hook:
        problem = _problem(checked) if checked.reason else ""
        said = stop_hook.answer(workspace.records, sys.stdin.read(), problem, is_verified=is_verified)
        say_json(said, indent=None)
        return 0
    if as_json:
        answer = {
            "green": not checked.reason and is_verified,
            "verified": is_verified,
            "problem": checked.problem,
            "gates": _rows(checked.results),
            "pages": [asdict(page) for page in checked.pages],
        }
        say_json(answer)
    elif not is_verified and not checked.problem:
        what = "No gate is required" if checked.results else "No gates are configured"
        say(f"UNVERIFIED. {what}: nothing was verified.", fg="yellow", bold=True)
        say("→ Add your checks to verify.default in ralph.config.json.")
    else:
        _explain(checked)
    return EXIT_UNFINISHED if checked.reason or not is_verified else 0


class _EveryGate(WorkflowDefaults):
    """Without a plan: every gate, and the UI gates if there are any."""


def _visible_gates(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """Leave out held-out gates: their files must not come into this checkout."""
    left_out = [gate.name for gate in gates if gate.held_out]
    if left_out:
        text = f"! Not run here: {', '.join(left_out)}. Held-out gates run only in Ralph's clean copies, during a run."
        say(text, fg="yellow", err=True)
    return tuple(gate for gate in gates if not gate.held_out)


def _warn_elsewhere(workspace: Workspace, target: Target) -> None:
    here = git_read.show(workspace.root, "branch", "--show-current").strip() if target.branch else ""
    if target.branch and target.branch.name != here:
        text = f"! {target.name} is on the branch {target.branch.name}, but this checks {here or 'a detached HEAD'}."
        say(text, fg="yellow", err=True)


async def _check(
    workspace: Workspace,
    folder: Path,
    config: Config,
    workflow: Workflow | WorkflowDefaults,
    wanted: tuple[Gate, ...],
    plan: Plan,
    task: Task | None,
    as_json: bool,
) -> SuiteResult:
    run_id, view, interrupt = new_run_id(), TerminalView(as_json=as_json), Interrupt()
    secrets = Secrets.of(os.environ, workspace.root, folder, more=config_notify.secrets(config.notify, os.environ))
    workspace.keep_out_of_git()
    logs = workspace.logs / f"{run_id}-verify"
    safe_files.make_folder(logs)

    def emit(event: Event) -> None:
        view(secrets.clean(event))

    def noted(text: str) -> None:
        emit(Noted(text=text))

    services = Services(
        services=config.services,
        cwd=folder,
        logs=logs,
        owner=run_id,
        secrets=secrets,
        environment=gates.gate_environment(config, {}),
        started=lambda service, s: emit(ServiceStarted(service=service.name, ready=service.ready, seconds=s)),
        noted=noted,
    )
    bench = GateRun(
        cwd=folder,
        logs=logs,
        owner=run_id,
        label="verify",
        environment=gates.gate_environment(config, {}),
        ui_variables=services.variables,
        secrets=secrets,
        fail_fast=config.verify.fail_fast,
        started=lambda gate: emit(GateStarted(gate=gate.name, command=gate.command)),
        ended=lambda result: emit(GateEnded(result=result)),
    )
    await end_verifying(workspace.records)
    with guarding(run_id), interrupt.on_signals(), verifying(workspace.records, run_id), secrets.in_errors():
        async with (
            services,
            Browser(config.browser, run_id, noted) as browser,
            _enclosed(config, workspace, folder, services, browser, emit) as within,
        ):
            bench = replace(bench, within=within)
            ui = _ui_work(workspace, workflow, plan, task, services, browser, emit, secrets)
            work = asyncio.create_task(check(wanted, bench, ui))
            with interrupt.scope(work):
                try:
                    async with ticking(view.tick):
                        return secrets.clean(await work)
                except asyncio.CancelledError:
                    raise RalphError("Interrupted.", code=EXIT_INTERRUPTED) from None


@asynccontextmanager
async def _enclosed(
    config: Config,
    workspace: Workspace,
    folder: Path,
    services: Services,
    browser: Browser,
    emit: Callable[[Event], None],
) -> AsyncIterator[Enclosure | None]:
    """Enclose all that runs here: it writes the person's own files, but not the repository or what is Ralph's."""

    def refused(setting: str, host: str) -> None:
        emit(HostRefused(host=host, setting=setting))

    async with opened(config, workspace, every_state(os.environ), refused) as sandbox:
        kept = tuple(folder / name for name in (".git", RALPH, NAME)) if sandbox.has_exceptions else ()
        services.within = sandbox.around_setup(folder, read_only=kept)
        browser.enclose = sandbox.around_browser
        yield sandbox.around_gate(folder, services=services.ports, read_only=kept)


def _ui_work(
    workspace: Workspace,
    workflow: Workflow | WorkflowDefaults,
    plan: Plan,
    task: Task | None,
    services: Services,
    browser: Browser,
    emit: Callable[[Event], None],
    secrets: Secrets,
) -> UiWork | None:
    if not workflow.is_ui(plan, task):
        return None
    tasks = [task] if task else [one for one in plan if workflow.is_ui(plan, one)]
    visit = PageVisit(
        pages=pages_in(criterion for one in tasks for criterion in one.criteria),
        browser=browser,
        shots=ScreenshotFolder(
            root=workspace.root,
            folder=workspace.root / browser.settings.screenshot_dir,
            work=task.id if task else plan.target or "all",
            attempt="verify",
        ),
        seen=lambda result: emit(PageChecked(result=result)),
        secrets=secrets,
    )
    opens_pages = browser.settings.enabled and (task is not None or bool(tasks))
    return UiWork(services=services, gates=workflow.ui_gates(task), visit=visit if opens_pages else None)


def _explain(checked: SuiteResult) -> None:
    for result in red(checked.results):
        say(f"\n{result.command}: {result.reason}")
        say(f"{result.output}\n→ {result.log}")
    for result in missed(checked.results):
        say(f"\n{result.command} {result.how_missed}: {result.reason}")
    if checked.left_out:
        say(f"\n{checked.left_out}")
    if checked.problem:
        say(f"\n{checked.problem}")
    report = pages.explain(checked.pages)
    if report:
        say(f"\n{report}")
    if not checked.reason:
        also = " and the pages" if checked.pages else ""
        say(f"All gates{also} are green.", fg="green", bold=True)


def _problem(checked: SuiteResult) -> str:
    """The failures as text for an agent."""
    failed = [f"{result.command}: {result.reason}\n{result.output}" for result in red(checked.results)]
    left = [f"{result.command} {result.how_missed}: {result.reason}" for result in missed(checked.results)]
    parts = (*failed, *left, checked.problem, pages.explain(checked.pages), checked.left_out)
    return "\n\n".join(filter(None, parts))


def _rows(results: tuple[GateResult, ...]) -> list[dict[str, object]]:
    return [
        {
            "name": result.name,
            "command": result.command,
            "required": result.required,
            "passed": result.passed,
            "notRun": result.not_run,
            "seconds": round(result.seconds, 3),
            "reason": result.reason,
            "output": result.output,
            "log": result.log,
        }
        for result in results
    ]
