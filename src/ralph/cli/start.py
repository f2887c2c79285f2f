"""`ralph start`: a request's plan; `ralph start plan` and `ralph start build`: from specs to tasks, to commits."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts, validation
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.cli.running import EXIT_CODES, RunRequest, Watching, exit_code, restore_after_kill, run_request
from ralph.cli.start_request import request_job
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.engine.planning import planner
from ralph.errors import RalphError
from ralph.views import words
from ralph.views.lines import say
from ralph.views.terminal import TerminalView
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.registry import find, specs_source
from ralph.workflows.specs.freshness import gone, outdated
from ralph.workflows.specs.planning import PlannedSpecs, SpecPlanner
from ralph.workflows.specs.store import TARGET
from ralph.workflows.specs.workflow import SpecsWorkflow
from ralph.workspace import PROGRESS, SPECS_PLAN, Workspace

EXAMPLES = f"""\b
Examples:
  ralph start                  the request's plan, one fresh agent and one commit for each task
  ralph start --jobs 4         four tasks in parallel, each in its own working copy
  ralph start plan             specs/*.md into tasks: implementation.json
  ralph start build            every task, one fresh agent for each; one commit for each spec
  ralph start build --once     one attempt, to try a configuration
  ralph start --json           events as JSON Lines on standard output
\b
Plan the specs again whenever they have changed: what is completed stays. Ctrl-C stops cleanly, and the same
command goes on from there; so does it after a crash. A request halts at the first task that is out of
attempts: `ralph start` gives it new ones and goes on from there.
{EXIT_CODES}"""


@click.command(name="start", epilog=EXAMPLES)
@click.argument("mode", type=click.Choice(["plan", "build"]), required=False)
@click.option("--jobs", type=click.IntRange(1, 64), help="Run N tasks in parallel.", metavar="N")
@click.option(
    "--on-failure",
    type=click.Choice(["wait", "stop"]),
    help="With --jobs, when a task fails: let the others end (wait, the default), or stop them.",
)
@click.option("--once", is_flag=True, help="Make one attempt, then stop.")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt.")
@click.option("--keep-going", is_flag=True, help="Go on although a gate cannot run at all.")
@click.option("--model", default="", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON Lines; plan: what it came to, as JSON.")
def command(
    mode: str | None,
    jobs: int | None,
    on_failure: str | None,
    once: bool,
    no_baseline: bool,
    keep_going: bool,
    model: str,
    quiet: bool,
    as_json: bool,
) -> int:
    """Work through the plan that `ralph plan` made. With a mode it is about specs: turn those in specs/*.md into
    tasks (plan), or work through them until all are verified (build)."""
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    config = configuration.load(workspace.root)
    watching = Watching(quiet=quiet, as_json=as_json)
    options = Options(
        once=once,
        jobs=jobs or 1,
        abrupt=on_failure == "stop",
        baseline=not no_baseline,
        keep_going=keep_going,
        model=model,
    )
    if mode is None:
        job = request_job(workspace, config, options)
        return exit_code(run_request(workspace, config, job, options, watching))
    if (jobs or 1) > 1 or on_failure:
        raise RalphError("--jobs and --on-failure are for a request's plan.", remedy="Leave them out.")
    if mode == "build":
        return exit_code(run_request(workspace, config, _job(workspace, config), options, watching))
    if once or no_baseline:
        raise RalphError("--once and --no-baseline are for `ralph start build`.", remedy="Leave them out.")
    return _plan(workspace, config.with_model("planner", model), watching)


def _job(workspace: Workspace, config: Config) -> RunRequest:
    """Everything that can be wrong is found before anything is touched."""
    for role in config.working_roles:
        check_installed(config.provider_for(role), workspace.root)
    for template in ("task", *(["review"] if config.review.enabled else [])):
        prompts.check(template, workspace.root)
    plan = find(workspace, TARGET).needed_plan()
    if not plan.specs:
        raise RalphError(f"Nothing is planned yet: {SPECS_PLAN} has no specs.", remedy="Plan it: `ralph start plan`.")
    missing = gone(workspace.root, plan)
    if missing:
        raise RalphError(
            f"{SPECS_PLAN} refers to spec files that are gone:",
            details=tuple(f"  {file}" for file in missing),
            remedy="Put them back, or plan anew without them: `ralph start plan`.",
        )
    _warn_outdated(workspace)
    return RunRequest(
        wanted=CheckoutRequest(
            target=TARGET,
            branch=f"{BRANCH_PREFIX}{TARGET}",
            defers=True,
            own_files=(SPECS_PLAN, PROGRESS),
            carry=(SPECS_PLAN, PROGRESS),
        ),
        make=lambda root: SpecsWorkflow(config, root, templates=workspace.root),
        command="ralph start build",
        more="More work: write another spec, then `ralph start plan`.",
    )


def _warn_outdated(workspace: Workspace) -> None:
    for line in outdated(workspace.root, specs_source(workspace).read(SPECS_PLAN)):
        say(f"! {line}: `ralph start plan`", fg="yellow", err=True)


def _plan(workspace: Workspace, config: Config, watching: Watching) -> int:
    silent = watching.quiet or watching.as_json
    prompts.check("specs-plan", workspace.root)
    view = TerminalView(quiet=silent, folder=workspace.root)
    found = specs_source(workspace).branch
    branch = found.name if found else ""
    with planner(workspace, config, TARGET, view, tick=view.tick, makes=(SPECS_PLAN,), branch=branch) as opened:
        planned = opened.wait(SpecPlanner(opened, workspace.root).make())
    if watching.as_json:
        document = validation.parse_object(specs_source(workspace).read(SPECS_PLAN) or b"{}", name=SPECS_PLAN)
        click.echo(json.dumps({"changes": planned.changes, "implementation": document}, indent=2))
    else:
        _tell(planned)
    _warn_outdated(workspace)
    return 0


def _tell(planned: PlannedSpecs) -> None:
    plan = planned.plan
    click.echo()
    for number, spec in enumerate(sorted(plan.specs, key=lambda spec: spec.priority), 1):
        say(f"{number}. {spec.name} ({spec.file})", bold=True)
        for task in plan.of_spec(spec.id):
            line = f"   {words.mark(task)} {task.id}  {words.cut(task.title, 90)}"
            say(line, fg=words.colour(task))
    click.echo()
    if not planned.is_new:  # else all of it is new, and stands above
        say("What changed:" if planned.changes else "Nothing changed.")
        for change in planned.changes:
            say(f"  {words.cut(change, 140)}")
    for file in planned.unlisted:
        say(f"! {file} lists no tasks: whether the plan forgets any was not checked", fg="yellow")
    if planned.added_criteria:
        say(f"added {words.count(planned.added_criteria, 'criterion')} of the specs that the agent had left out")
    say(f"wrote {SPECS_PLAN}: {words.count(len(plan.specs), 'spec')}, {words.count(len(plan.tasks), 'task')}")
    say("→ Read it, change it if you like, then: ralph start build")
