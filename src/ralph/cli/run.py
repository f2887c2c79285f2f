"""`ralph run [FEATURE]`: work through a plan until every task in it is verified."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.cli.checks import show
from ralph.cli.complete import configs, targets
from ralph.cli.running import EXIT_CODES, Job, Watching, exit_code, put_back_what_agents_changed, run_job
from ralph.config import Config
from ralph.errors import RalphError
from ralph.journal.events import RunEnded
from ralph.loop.checkout import Wanted
from ralph.loop.engine import Options
from ralph.stores import prd
from ralph.workflows import features
from ralph.workflows.feature import FeatureWorkflow
from ralph.workflows.features import BRANCH_PREFIX, is_outdated
from ralph.workflows.targets import REQUIREMENTS, SPECS, has_requirements, has_specs, no_plan
from ralph.workspace import RALPH, Workspace

EXAMPLES = f"""\b
Examples:
  ralph run auth               until every story passed and the final verification agreed
  ralph run auth --once        one attempt, to try a configuration
  ralph run auth --worktree    in a checkout of its own; yours is not touched
  ralph run auth --jobs 4      four stories at a time, each in a worktree; yours is not touched
  ralph run                    the tasks made from requirements
  ralph run --config quick     with the steps of .ralph/configs/quick.json
  ralph run --json             events as JSON Lines on standard output
\b
Ctrl-C stops cleanly, and the same command goes on from there; so does it after a crash.
{EXIT_CODES}"""


@click.command(name="run", epilog=EXAMPLES)
@click.argument("target", metavar="[FEATURE]", required=False, shell_complete=targets)
@click.option("--once", is_flag=True, help="Make one attempt, then stop.")
@click.option("--config", "config_name", shell_complete=configs, help="The step configuration, without a feature.")
@click.option("--worktree", is_flag=True, help="Work in a separate checkout under .ralph/worktrees/.")
@click.option("--jobs", type=click.IntRange(1, 64), help="So many stories at a time, each in a worktree of its own.")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt.")
@click.option("--model", default="", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON Lines on standard output.")
def command(
    target: str | None,
    once: bool,
    config_name: str | None,
    worktree: bool,
    jobs: int | None,
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
    options = Options(once=once, jobs=jobs or 0, baseline=not no_baseline, model=model)
    watching = Watching(quiet=quiet, as_json=as_json)
    if name == SPECS:
        raise build_instead()
    if name == REQUIREMENTS:
        if worktree or jobs:
            raise RalphError(
                f"--{'worktree' if worktree else 'jobs'} is for features.",
                remedy="The requirements' plan has one branch: this one.",
            )
        ended = run_requirements(workspace, config, config_name or "default", options, watching)
    else:
        if config_name:
            raise RalphError("--config is for the requirements' plan.", remedy="Leave it out, or leave the name out.")
        ended = run_feature(workspace, config, name, options, watching, worktree=worktree)
    return exit_code(ended)


def build_instead() -> RalphError:
    return RalphError("Specs are not run, they are built.", remedy="ralph start build")


def _only_plan(workspace: Workspace) -> str:
    """What to run when nobody says: the requirements' plan."""
    if has_requirements(workspace):
        return REQUIREMENTS
    if has_specs(workspace):
        raise build_instead()
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
    return run_job(workspace, config, _feature_job(workspace, config, name, options, worktree), options, watching)


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
        command=f"ralph run {REQUIREMENTS}",
        more='More work: `ralph add "what is missing"`.',
        listeners=(Reports(workspace.ralph),),
        figures=f"{RALPH}/aggregate.json",
    )
    return run_job(workspace, config, job, options.with_config(config_name), watching)


def _feature_job(workspace: Workspace, config: Config, name: str, options: Options, worktree: bool) -> Job:
    """Everything that can be wrong is found before anything is touched."""
    if options.jobs and not config.commits.prd_changes:
        raise RalphError(
            "--jobs needs commits.prdChanges: a story's work and its state land in one commit.",
            remedy="Set it to true in ralph.config.json, or run without --jobs.",
        )
    for role in (*config.working_roles, "verifier"):
        check_installed(config.provider_for(role), workspace.root)
    for template in ("run", "verify", *(["review"] if config.review.enabled else [])):
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
        wanted=Wanted(
            target=name,
            branch=plan.branch,
            worktree=worktree or bool(options.jobs),
            lands=bool(options.jobs),
            carry=carry,
        ),
        make=lambda root: FeatureWorkflow(feature, config, root),
        command=f"ralph run {name}"
        + (f" --jobs {options.jobs}" if options.jobs else " --worktree" if worktree else ""),
    )
