"""`ralph run [FEATURE]`: work through a plan until every task in it is verified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.cli.checks import show
from ralph.cli.complete import configs, targets
from ralph.config import Config
from ralph.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_LIMIT,
    EXIT_UNFINISHED,
    EXIT_WRONG,
    RalphError,
)
from ralph.journal.events import Event, RunEnded
from ralph.journal.writer import Listener
from ralph.loop import trusted
from ralph.loop.checkout import Wanted
from ralph.loop.engine import Options, engage
from ralph.loop.workflow import Workflow
from ralph.plan.work import Ending
from ralph.stores import prd
from ralph.views.terminal import TerminalView
from ralph.workflows import features
from ralph.workflows.feature import FeatureWorkflow
from ralph.workflows.features import BRANCH_PREFIX, is_outdated
from ralph.workflows.targets import REQUIREMENTS, has_requirements, no_plan
from ralph.workspace import Workspace

CODES = {
    Ending.DONE: EXIT_DONE,
    Ending.BLOCKED: EXIT_UNFINISHED,
    Ending.UNVERIFIED: EXIT_UNFINISHED,
    Ending.LIMITED: EXIT_LIMIT,
    Ending.STOPPED: EXIT_WRONG,
    Ending.INTERRUPTED: EXIT_INTERRUPTED,
}

EXAMPLES = """\b
Examples:
  ralph run auth               until every story passed and the final verification agreed
  ralph run auth --once        one attempt, to try a configuration
  ralph run auth --worktree    in a checkout of its own; yours is not touched
  ralph run                    the tasks made from requirements
  ralph run --config quick     with the steps of .ralph/configs/quick.json
  ralph run --json             events as JSON Lines on standard output
\b
Ctrl-C stops cleanly, and the same command goes on from there; so does it after a crash.
Exit codes: 0 all done and verified, 1 something is wrong, 3 something is blocked, failed, stuck
or not verified, 4 stopped at a limit, 5 another run is at work, 130 interrupted."""


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How a person wants to see a run."""

    quiet: bool = False
    as_json: bool = False


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run that has been checked and can begin."""

    wanted: Wanted
    make: Callable[[Path], Workflow]
    listeners: tuple[Listener, ...] = ()


@click.command(name="run", epilog=EXAMPLES)
@click.argument("target", metavar="[FEATURE]", required=False, shell_complete=targets)
@click.option("--once", is_flag=True, help="Make one attempt, then stop.")
@click.option("--config", "config_name", shell_complete=configs, help="The step configuration, without a feature.")
@click.option("--worktree", is_flag=True, help="Work in a separate checkout under .ralph/worktrees/.")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt.")
@click.option("--model", default="", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON Lines on standard output.")
def command(
    target: str | None,
    once: bool,
    config_name: str | None,
    worktree: bool,
    no_baseline: bool,
    model: str,
    quiet: bool,
    as_json: bool,
) -> int:
    """Work through FEATURE's stories, one fresh agent for each, until all are verified. Without a feature: through
    the tasks that were made from requirements."""
    workspace = workspaces.find(Path.cwd())
    put_back_what_agents_changed(workspace)
    name = _only_plan(workspace) if target is None else target
    config = configuration.load(workspace.root)
    options = Options(once=once, baseline=not no_baseline, model=model)
    watching = Watching(quiet=quiet, as_json=as_json)
    if name == REQUIREMENTS:
        if worktree:
            raise RalphError("--worktree is for features.", remedy="The requirements' plan has one branch: this one.")
        ended = run_requirements(workspace, config, config_name or "default", options, watching)
    else:
        if config_name:
            raise RalphError("--config is for the requirements' plan.", remedy="Leave it out, or leave the name out.")
        ended = run_feature(workspace, config, name, options, watching, worktree=worktree)
    if ended.ending is Ending.ONCE:
        return EXIT_DONE if ended.reason == "passed" else EXIT_UNFINISHED
    return CODES[ended.ending]


def put_back_what_agents_changed(workspace: Workspace) -> None:
    """A run was killed while an agent was at work: what that did to Ralph's files is undone before they are read."""
    changed = trusted.put_back(workspace)
    if changed:
        text = f"! {', '.join(changed)} had changed when the last run was killed with an agent at work: put back."
        click.secho(f"{text} What was found is in .ralph/run/*/found.", fg="yellow", err=True)


def _only_plan(workspace: Workspace) -> str:
    """What to run when nobody says: the requirements' plan."""
    if has_requirements(workspace):
        return REQUIREMENTS
    names = dict.fromkeys(located.feature.name for located in features.everything(workspace))
    if not names:
        raise RalphError(
            "There is nothing to run here yet.",
            remedy="Plan a feature with `ralph prd NAME`, or begin with `ralph init --requirements FILE`.",
        )
    raise RalphError(
        "Which feature?",
        details=("These exist:", *(f"  {name}" for name in names)),
        remedy=f"For example: ralph run {next(iter(names))}",
    )


def run_feature(
    workspace: Workspace,
    config: Config,
    name: str,
    options: Options,
    watching: Watching,
    *,
    worktree: bool = False,
) -> RunEnded:
    return _run(workspace, config, _feature_job(workspace, config, name, worktree), options, watching)


def run_requirements(
    workspace: Workspace, config: Config, config_name: str, options: Options, watching: Watching
) -> RunEnded:
    from ralph.loop import pipeline
    from ralph.views.reports import Reports
    from ralph.workflows.preflight import preflight
    from ralph.workflows.requirements import Layout, RequirementsWorkflow

    steps = pipeline.load(workspace, config_name)
    checks = list(preflight(workspace, config, steps))
    bad = [check for check in checks if check.state == "bad"]
    if not watching.as_json and not watching.quiet:
        for check in checks:
            show(check)
        click.echo()
    if bad:
        raise RalphError(
            f"Not everything is ready: {bad[0].what}" + (f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""),
            details=tuple(check.what for check in bad[1:]) if watching.as_json or watching.quiet else (),
            remedy=bad[0].remedy,
        )
    job = Job(
        wanted=Wanted(target=REQUIREMENTS, folder=Layout(workspace=workspace, plan=steps.plan).app),
        make=lambda folder: RequirementsWorkflow(workspace, config, steps, folder),
        listeners=(Reports(workspace.ralph),),
    )
    return _run(workspace, config, job, options.with_config(config_name), watching)


def _run(workspace: Workspace, config: Config, job: Job, options: Options, watching: Watching) -> RunEnded:
    """One run, watched in the way a person asked for."""
    view = TerminalView(quiet=watching.quiet, folder=workspace.root)
    listener: Listener = print_json if watching.as_json else view

    async def watched() -> RunEnded:
        ticker = asyncio.create_task(_tick(view if not watching.as_json else None))
        try:
            return await engage(workspace, config, job.wanted, job.make, options, listener, *job.listeners)
        finally:
            ticker.cancel()

    ended = asyncio.run(watched())
    if not watching.as_json:
        closing(ended, job.wanted, workspace)
    return ended


def _feature_job(workspace: Workspace, config: Config, name: str, worktree: bool) -> Job:
    """Everything that can be wrong is found before anything is touched."""
    for role in ("executor", "verifier"):
        check_installed(config.provider_for(role), workspace.root)
    for template in ("run", "verify"):
        prompts.check(template, workspace.root)
    located = features.locate(workspace, name)
    feature = located.feature
    data = located.read(workspace.root, feature.prd_json)
    if data is None:
        raise no_plan(name)
    document, plan = prd.read(data, name, name=f"{feature.prd_json} ({located.where})")
    if is_outdated(document, located.read(workspace.root, feature.prd_md)):
        click.secho(f"! prd.md has changed since prd.json was made from it: `ralph prd {name}`", fg="yellow", err=True)
    if not plan.branch.startswith(BRANCH_PREFIX):
        raise RalphError(
            f"The plan's branchName is {plan.branch!r}: Ralph works only on branches of its own.",
            remedy=f"Set it to {BRANCH_PREFIX}{name} in {feature.prd_json}.",
        )
    carry = (feature.prd_json, feature.prd_md)
    return Job(
        wanted=Wanted(target=name, branch=plan.branch, worktree=worktree, carry=carry),
        make=lambda root: FeatureWorkflow(feature, config, root),
    )


async def _tick(view: TerminalView | None) -> None:
    while view:
        await asyncio.sleep(1)
        view.tick()


def print_json(_: Event, line: str) -> None:
    if line:
        click.echo(line)


def closing(ended: RunEnded, wanted: Wanted, workspace: Workspace) -> None:
    """Where to look now."""
    name = f"{ended.target} --worktree" if wanted.worktree else ended.target
    if wanted.branch:
        click.echo(f"  branch    {wanted.branch}")
    click.echo(f"  logs      {_relative(workspace.logs / ended.run)}")
    if ended.workflow == REQUIREMENTS:
        click.echo(f"  figures   {_relative(workspace.ralph / 'aggregate.json')}")
    if wanted.worktree:
        folder = _relative(workspace.worktrees / ended.target)
        click.echo(f"  worktree  {folder}   (when you need it no more: git worktree remove {folder})")
    match ended.ending:
        case Ending.DONE if wanted.branch:
            click.echo(f"→ Look at it (`git log {wanted.branch}`) and merge it when you like: Ralph never does.")
        case Ending.DONE:
            log = f"git -C {wanted.folder} log" if wanted.folder else "git log"
            click.echo(f'→ Look at it (`{log}`). More work: `ralph add "what is missing"`.')
        case Ending.BLOCKED:
            click.echo(f"→ See why: `ralph status {ended.target} --task ID`, `ralph attempts {ended.target}`.")
            click.echo(f"  Then `ralph retry {ended.target}` and `ralph run {name}`.")
        case Ending.UNVERIFIED:
            click.echo(f"→ See why: `ralph status {ended.target}`.")
            click.echo(f"  Then `ralph retry {ended.target}` and `ralph run {name}`.")
        case Ending.STOPPED:
            click.echo(f"→ Mend that, then `ralph run {name}` goes on.")
        case Ending.LIMITED:
            click.echo(f"→ `ralph run {name}` goes on when the limit has passed.")
        case _:
            click.echo(f"→ `ralph run {name}` goes on.")


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
