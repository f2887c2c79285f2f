"""`ralph start`: runs a request's plan; `ralph start plan` and `ralph start build`: plan and run the specs."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import prompts, validation
from ralph import workspace as workspaces
from ralph.cli.run import run_target
from ralph.cli.running import EXIT_CODES, ViewOptions, exit_code, restore_after_kill
from ralph.cli.running_options import RunFlags, running_options
from ralph.cli.trusting import load_trusted
from ralph.config import Config
from ralph.errors import RalphError
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.views.terminal import TerminalView
from ralph.workflows.planning import planner
from ralph.workflows.registry import find
from ralph.workflows.request.targets import REQUEST
from ralph.workflows.specs.entry import stale
from ralph.workflows.specs.planning import PlannedSpecs, SpecPlanner
from ralph.workflows.specs.store import TARGET
from ralph.workflows.specs.targets import SPECS
from ralph.workflows.specs.targets import source as specs_source
from ralph.workspace import SPECS_PLAN, Workspace

EXAMPLES = f"""\b
Examples:
  ralph start                  the request's plan, one fresh agent and one commit for each task
  ralph start --jobs 4         four tasks in parallel, each in its own working copy
  ralph start plan             specs/*.md into tasks: implementation.json
  ralph start build            every task, one fresh agent for each; one commit for each spec
  ralph start build --jobs 2   two specs in parallel
  ralph start build --once     one attempt, to try a configuration
  ralph start --json           events as JSON Lines on standard output

\b
Plan the specs again when they have changed; completed tasks stay. A request halts at the first task that
runs out of attempts; `ralph start` retries it. Ctrl-C stops cleanly. Run the same command again to resume,
also after a crash. `ralph run request`, `ralph plan --from specs/` and `ralph run specs` do the same.
{EXIT_CODES}"""


@click.command(name="start", epilog=EXAMPLES)
@click.argument("mode", type=click.Choice(["plan", "build"]), required=False)
@running_options("Print events as JSON Lines; with plan: the result as JSON.")
def command(mode: str | None, flags: RunFlags) -> int:
    """Work through the request's plan, which `ralph plan` made. With a mode, work on specs: turn specs/*.md into
    tasks (plan), or work through these tasks until all are verified (build)."""
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    config = load_trusted(workspace)
    if mode != "plan":
        target = find(workspace, SPECS if mode == "build" else REQUEST)
        return exit_code(run_target(workspace, config, target, flags))
    if flags != RunFlags(model=flags.model, quiet=flags.quiet, as_json=flags.as_json):
        raise RalphError(
            "`ralph start plan` takes only --model, --quiet and --json.", remedy="Leave the other options out."
        )
    return _plan(workspace, config.with_model("planner", flags.model), flags.watching)


def _plan(workspace: Workspace, config: Config, watching: ViewOptions) -> int:
    prompts.check("specs-plan", workspace.root)
    view = TerminalView(quiet=watching.quiet, as_json=watching.as_json, folder=workspace.root)
    found = specs_source(workspace).branch
    branch = found.name if found else ""
    with planner(
        workspace, config, TARGET, view, tick=view.tick, makes=(SPECS_PLAN,), branch=branch, defers_commit=True
    ) as opened:
        planned = opened.wait(SpecPlanner(opened, workspace.root).make())
    if watching.as_json:
        document = validation.parse_object(specs_source(workspace).read(SPECS_PLAN) or b"{}", name=SPECS_PLAN)
        say_json({"changes": planned.changes, "implementation": document})
    else:
        _print_plan(planned)
    for warning in stale(workspace):
        say(f"! {warning}", fg="yellow", err=True)
    return 0


def _print_plan(planned: PlannedSpecs) -> None:
    plan = planned.plan
    say()
    for number, spec in enumerate(sorted(plan.specs, key=lambda spec: spec.priority), 1):
        say(f"{number}. {spec.name} ({spec.file})", bold=True)
        for task in plan.of_spec(spec.id):
            line = f"   {words.mark(task)} {task.id}  {words.cut(task.title, 90)}"
            say(line, fg=words.colour(task))
    say()
    if not planned.is_new:  # otherwise everything is new, and already printed above
        say("What changed:" if planned.changes else "Nothing changed.")
        for change in planned.changes:
            say(f"  {words.cut(change, 140)}")
    for file in planned.unlisted:
        say(f"! {file} lists no tasks, so Ralph could not check that the plan covers it", fg="yellow")
    if planned.added_criteria:
        say(f"added {words.count(planned.added_criteria, 'criterion')} from the specs that the agent left out")
    say(f"wrote {SPECS_PLAN}: {words.count(len(plan.specs), 'spec')}, {words.count(len(plan.tasks), 'task')}")
    say("→ Read it, edit it if you like, then run `ralph run specs`.")
