"""`ralph run [NAME]`: works through a plan of any workflow until every task in it is verified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.agent.isolated import opened
from ralph.cli.checks import show
from ralph.cli.complete import configs, targets
from ralph.cli.probe_new import probe_new
from ralph.cli.running import EXIT_CODES, exit_code, restore_after_kill, run_request
from ralph.cli.running_options import RunFlags, running_options
from ralph.cli.trusting import load_trusted
from ralph.config import ROLES, Config
from ralph.engine.lifecycle import Options
from ralph.errors import EXIT_DONE, RalphError
from ralph.git.read import one_moment
from ralph.journal.events import RunEnded
from ralph.plan.model import Plan
from ralph.plan.select import waves
from ralph.views.lines import say
from ralph.workflows.checks import Check
from ralph.workflows.racing import check_races, with_race
from ralph.workflows.registry import find, only_target, workflow_of
from ralph.workflows.run_request import RunRequest
from ralph.workflows.target import Target
from ralph.workspace import Workspace

EXAMPLES = f"""\b
Examples:
  ralph run auth               a feature, until every task passes and the final verification agrees
  ralph run request --jobs 4   a request's plan, four tasks in parallel
  ralph run specs --jobs 2     the tasks of your specs, two specs in parallel, one commit for each
  ralph run                    the plan of a project that has only one, or the one made from requirements
  ralph run auth --race claude,codex   both attempt each task; the first whose work passes wins
  ralph run auth --dry-run     the order, waves, prompts, gates, agents and an estimate; calls nothing
  ralph run auth --once        one attempt, to try a configuration
  ralph run --config quick     requirements, with the steps of .ralph/configs/quick.json
  ralph run auth --detach      in the background, also after you log out; `ralph watch` shows it
  ralph run auth --json        events as JSON Lines on standard output

\b
Agents work in their own copies, and Ralph never touches your checkout. Work lands on ralph/<name>.
Ctrl-C stops cleanly. Run the same command again to resume, also after a crash.
{EXIT_CODES}"""


@click.command(name="run", epilog=EXAMPLES)
@click.argument("target", metavar="[NAME]", required=False, shell_complete=targets)
@click.option("--config", "config_name", shell_complete=configs, help="The step configuration (requirements only).")
@click.option("--dry-run", is_flag=True, help="Show what would be done; call nothing and change nothing.")
@click.option("--prompts", "with_prompts", is_flag=True, help="With --dry-run: print the prompts.")
@click.option("--worktree", is_flag=True, hidden=True)  # every run now has its own working copies
@click.option("--detach", is_flag=True, help="Run in the background; it goes on when the terminal is closed.")
@click.option("--watch", is_flag=True, help="Run in the background, and open `ralph watch` on it.")
@running_options()
def command(
    target: str | None,
    config_name: str | None,
    dry_run: bool,
    with_prompts: bool,
    worktree: bool,
    detach: bool,
    watch: bool,
    flags: RunFlags,
) -> int:
    """Work through the plan NAME, one fresh agent for each task, until every task is verified. NAME is a feature,
    a session, `request`, `requirements` or `specs`. With one plan in the project, no NAME is needed."""
    workspace = workspaces.find(Path.cwd())
    if dry_run:
        return _preview(workspace, target, flags, config_name or "", with_texts=with_prompts)
    if with_prompts:
        raise RalphError("--prompts needs --dry-run.", remedy="See `ralph run --help`.")
    _check_background(flags, detach=detach, watch=watch)
    restore_after_kill(workspace)
    config = load_trusted(workspace)
    with one_moment():
        found = only_target(workspace) if target is None else find(workspace, target)
        prepared = prepare(workspace, config, found, flags, config_name=config_name or "")
    if detach or watch:
        return _run_in_background(workspace, found.name, watch=watch)
    return exit_code(run_request(workspace, *prepared, flags.watching))


@one_moment()
def _preview(workspace: Workspace, name: str | None, flags: RunFlags, config_name: str, *, with_texts: bool) -> int:
    from ralph.cli.dry_run import preview  # a run does not need it

    config = configuration.load(workspace.root)
    target = only_target(workspace) if name is None else find(workspace, name)
    return preview(workspace, config, target, flags, config_name=config_name, with_texts=with_texts)


def _check_background(flags: RunFlags, *, detach: bool, watch: bool) -> None:
    if watch:
        from ralph.cli.watch import check_terminal

        check_terminal()
    option = "--watch" if watch else "--detach"
    if (watch or detach) and flags.as_json:
        raise RalphError(
            f"{option} does not go with --json: a run in the background prints nothing here.",
            remedy="Follow it with `ralph logs --follow --json`.",
        )


def _run_in_background(workspace: Workspace, target: str, *, watch: bool) -> int:
    from ralph.cli import detaching

    ended = detaching.start(workspace, target)
    if ended is not None:
        return ended
    if watch:
        from ralph.cli import watch as watching

        watching.watch(workspace, target)
        say(f"→ The run goes on. Watch it again: `ralph watch {target}`.")
    return EXIT_DONE


def run_target(workspace: Workspace, config: Config, target: Target, flags: RunFlags) -> RunEnded:
    return run_request(workspace, *prepare(workspace, config, target, flags), flags.watching)


def prepare(
    workspace: Workspace, config: Config, target: Target, flags: RunFlags, *, config_name: str = ""
) -> tuple[Config, RunRequest, Options]:
    """Check everything before changing anything, and return what to run, with which configuration."""
    kind, watching = workflow_of(target), flags.watching
    flags.check(kind, config_name)
    if flags.race is not None:
        config = with_race(config, flags.race)
    options = flags.options(config_name or kind.default_config)
    is_silent = watching.as_json or watching.quiet
    _need_all_good(list(kind.entry.checks(workspace, config, target, options)), is_silent=is_silent)
    request = kind.entry.prepare(workspace, config, target, options)
    if kind.can_race:
        check_races(config, target.plan(), workspace.root, options.budget or config.budget)
    more = {"jobs": options.jobs if options.jobs > 1 else "", "race": flags.race}
    again = "".join(f" --{name} {value}" for name, value in more.items() if value)
    request = replace(request, command=f"{request.command}{again}")
    if (noted := opened(map(config.provider_for, ROLES))) and not is_silent:
        say(noted)
    for warning in (*request.warnings, *(_in_vain(target.plan()) if options.jobs > 1 else ())):
        say(f"! {warning}", fg="yellow", err=True)
    probe_new(workspace, config, kind, flags)
    return config, request, options


def _in_vain(plan: Plan | None) -> Iterator[str]:
    """Warn if no two tasks of a plan can run at the same time."""
    if plan and plan.tasks[1:] and not any(wave[1:] for wave in waves(plan)):
        field, what = ("dependsOn", "specs") if plan.specs else ("depends_on", "tasks")
        is_silent = any(part.in_order for part in plan.specs or plan.tasks)
        why = (
            f" It does not say what its {what} depend on: add `{field}` to them, `[]` for nothing." if is_silent else ""
        )
        yield f"No two tasks of this plan can run at the same time, so --jobs changes nothing.{why}"


def _need_all_good(checks: list[Check], *, is_silent: bool) -> None:
    for check in () if is_silent else checks:
        show(check)
    if checks and not is_silent:
        say()
    bad = [check for check in checks if check.state == "bad"]
    if bad:
        raise RalphError(
            f"Not everything is ready: {bad[0].what}" + (f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""),
            details=tuple(check.what for check in bad[1:]) if is_silent else (),
            remedy=bad[0].remedy,
        )
