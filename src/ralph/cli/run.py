"""`ralph run FEATURE`: work through its stories until all are verified."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.cli.complete import features
from ralph.config import Config, Role
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
from ralph.loop.checkout import Wanted
from ralph.loop.engine import Options, engage
from ralph.plan.work import Ending
from ralph.stores import prd
from ralph.views.terminal import TerminalView
from ralph.workflows.feature import FeatureWorkflow
from ralph.workflows.features import BRANCH_PREFIX, is_outdated, locate
from ralph.workspace import Feature, Workspace

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
  ralph run auth --json        events as JSON Lines on standard output
\b
Ctrl-C stops cleanly, and the same command goes on from there; so does it after a crash.
Exit codes: 0 all done and verified, 1 something is wrong, 3 something is blocked or not
verified, 4 stopped at a limit, 5 another run is at work, 130 interrupted."""


@click.command(name="run", epilog=EXAMPLES)
@click.argument("feature", shell_complete=features)
@click.option("--once", is_flag=True, help="Make one attempt, then stop.")
@click.option("--worktree", is_flag=True, help="Work in a separate checkout under .ralph/worktrees/.")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt.")
@click.option("--model", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON Lines on standard output.")
def command(
    feature: str, once: bool, worktree: bool, no_baseline: bool, model: str | None, quiet: bool, as_json: bool
) -> int:
    """Work through FEATURE's stories, one fresh agent for each, until all are verified."""
    workspace = workspaces.find(Path.cwd())
    config = with_model(configuration.load(workspace.root), model)
    options = Options(once=once, baseline=not no_baseline)
    ended, _ = run_feature(workspace, config, feature, options, worktree=worktree, quiet=quiet, as_json=as_json)
    if ended.ending is Ending.ONCE:
        return EXIT_DONE if ended.reason == "passed" else EXIT_UNFINISHED
    return CODES[ended.ending]


def with_model(config: Config, model: str | None) -> Config:
    """The executor's model, for this run only."""
    if not model:
        return config
    executor = config.roles.get("executor", Role()).model_copy(update={"model": model})
    return config.model_copy(update={"roles": {**config.roles, "executor": executor}})


def run_feature(
    workspace: Workspace,
    config: Config,
    name: str,
    options: Options,
    *,
    worktree: bool = False,
    quiet: bool = False,
    as_json: bool = False,
) -> tuple[RunEnded, Wanted]:
    """One run, watched in the way a person asked for."""
    feature, wanted = prepare(workspace, config, name, worktree)
    view = TerminalView(quiet=quiet, folder=workspace.root)
    listener: Listener = print_json if as_json else view

    def make(root: Path) -> FeatureWorkflow:
        return FeatureWorkflow(feature, config, root)

    async def watched() -> RunEnded:
        ticker = asyncio.create_task(_tick(view if not as_json else None))
        try:
            return await engage(workspace, config, wanted, make, options, listener)
        finally:
            ticker.cancel()

    ended = asyncio.run(watched())
    if not as_json:
        closing(ended, wanted, workspace)
    return ended, wanted


def prepare(workspace: Workspace, config: Config, name: str, worktree: bool) -> tuple[Feature, Wanted]:
    """Everything that can be wrong is found before anything is touched."""
    for role in ("executor", "verifier"):
        check_installed(config.provider_for(role), workspace.root)
    for template in ("run", "verify"):
        prompts.check(template, workspace.root)
    located = locate(workspace, name)
    feature = located.feature
    data = located.read(workspace.root, feature.prd_json)
    if data is None:
        raise RalphError(
            f"The feature {name!r} has no prd.json yet.", remedy=f"Finalize its PRD with `ralph prd {name}`."
        )
    document, plan = prd.read(data, name, name=f"{feature.prd_json} ({located.where})")
    if is_outdated(document, located.read(workspace.root, feature.prd_md)):
        click.secho(f"! prd.md has changed since prd.json was made from it: `ralph prd {name}`", fg="yellow", err=True)
    if not plan.branch.startswith(BRANCH_PREFIX):
        raise RalphError(
            f"The plan's branchName is {plan.branch!r}: Ralph works only on branches of its own.",
            remedy=f"Set it to {BRANCH_PREFIX}{name} in {feature.prd_json}.",
        )
    carry = (feature.prd_json, feature.prd_md)
    return feature, Wanted(target=name, branch=plan.branch, worktree=worktree, carry=carry)


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
    click.echo(f"  branch    {wanted.branch}")
    click.echo(f"  logs      {_relative(workspace.logs / ended.run)}")
    if wanted.worktree:
        folder = _relative(workspace.worktrees / ended.target)
        click.echo(f"  worktree  {folder}   (when you need it no more: git worktree remove {folder})")
    match ended.ending:
        case Ending.DONE:
            click.echo(f"→ Look at it (`git log {wanted.branch}`) and merge it when you like: Ralph never does.")
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
