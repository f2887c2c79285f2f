"""`ralph run [NAME]`: works through a plan of any workflow until every task in it is verified."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.checks import show
from ralph.cli.complete import configs, targets
from ralph.cli.running import EXIT_CODES, exit_code, restore_after_kill, run_request
from ralph.cli.running_options import RunFlags, running_options
from ralph.config import Config
from ralph.errors import RalphError
from ralph.journal.events import RunEnded
from ralph.views.lines import say
from ralph.workflows.checks import Check
from ralph.workflows.registry import find, only_target, workflow_of
from ralph.workflows.target import Target
from ralph.workspace import Workspace

EXAMPLES = f"""\b
Examples:
  ralph run auth               a feature, until every story passed and the final verification agreed
  ralph run request --jobs 4   a request's plan, four tasks in parallel
  ralph run specs              the tasks of your specs, one commit for each spec
  ralph run                    the plan of a project that has only one, or the one made from requirements
  ralph run auth --once        one attempt, to try a configuration
  ralph run --config quick     requirements, with the steps of .ralph/configs/quick.json
  ralph run auth --json        events as JSON Lines on standard output
\b
Agents work in copies of their own: your checkout is never touched. Work lands on ralph/<name>.
Ctrl-C stops cleanly. Run the same command again to resume, also after a crash.
{EXIT_CODES}"""


@click.command(name="run", epilog=EXAMPLES)
@click.argument("target", metavar="[NAME]", required=False, shell_complete=targets)
@click.option("--config", "config_name", shell_complete=configs, help="The step configuration (requirements).")
@click.option("--worktree", is_flag=True, hidden=True)  # every run now has its own working copies
@running_options()
def command(target: str | None, config_name: str | None, worktree: bool, flags: RunFlags) -> int:
    """Work through the plan NAME, one fresh agent for each task, until every task is verified. NAME is a feature,
    a session, `request`, `requirements` or `specs`. With one plan in the project no name is needed."""
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    config = configuration.load(workspace.root)
    found = only_target(workspace) if target is None else find(workspace, target)
    return exit_code(run_target(workspace, config, found, flags, config_name=config_name or ""))


def run_target(
    workspace: Workspace, config: Config, target: Target, flags: RunFlags, *, config_name: str = ""
) -> RunEnded:
    """Check everything before changing anything, then run."""
    kind, watching = workflow_of(target), flags.watching
    flags.check(kind, config_name)
    options = flags.options(config_name or kind.default_config)
    is_silent = watching.as_json or watching.quiet
    _need_all_good(list(kind.entry.checks(workspace, config, target, options)), is_silent=is_silent)
    request = kind.entry.prepare(workspace, config, target, options)
    for warning in request.warnings:
        say(f"! {warning}", fg="yellow", err=True)
    return run_request(workspace, config, request, options, watching)


def _need_all_good(checks: list[Check], *, is_silent: bool) -> None:
    for check in () if is_silent else checks:
        show(check)
    if checks and not is_silent:
        click.echo()
    bad = [check for check in checks if check.state == "bad"]
    if bad:
        raise RalphError(
            f"Not everything is ready: {bad[0].what}" + (f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""),
            details=tuple(check.what for check in bad[1:]) if is_silent else (),
            remedy=bad[0].remedy,
        )
