"""`ralph run [FEATURE]`: work through a plan until every task in it is verified."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.cli.checks import show
from ralph.cli.complete import configs, targets
from ralph.cli.running import EXIT_CODES, RunRequest, Watching, exit_code, restore_after_kill, run_request
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.journal.events import RunEnded
from ralph.views.lines import say
from ralph.workflows.feature import locate as features
from ralph.workflows.feature.locate import is_outdated
from ralph.workflows.feature.workflow import FeatureWorkflow
from ralph.workflows.formats import PRD
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.registry import REQUIREMENTS, SPECS, has_requirements, has_specs, no_plan, requirements_source
from ralph.workspace import RALPH, Workspace

EXAMPLES = f"""\b
Examples:
  ralph run auth               until every story passed and the final verification agreed
  ralph run auth --once        one attempt, to try a configuration
  ralph run auth --jobs 4      four stories in parallel, each in its own working copy
  ralph run                    the tasks made from requirements
  ralph run --config quick     with the steps of .ralph/configs/quick.json
  ralph run --json             events as JSON Lines on standard output
\b
Agents work in copies of their own: your checkout is never touched. Work lands on ralph/<name>.
Ctrl-C stops cleanly. Run the same command again to resume, also after a crash.
{EXIT_CODES}"""


@click.command(name="run", epilog=EXAMPLES)
@click.argument("target", metavar="[FEATURE]", required=False, shell_complete=targets)
@click.option("--once", is_flag=True, help="Make one attempt, then stop.")
@click.option("--config", "config_name", shell_complete=configs, help="The step configuration, without a feature.")
@click.option("--worktree", is_flag=True, hidden=True)  # every run has working copies of its own by now
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=1, help="Run N stories in parallel.", metavar="N")
@click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt.")
@click.option("--keep-going", is_flag=True, help="Go on although a gate cannot run at all.")
@click.option("--model", default="", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary.")
@click.option("--json", "as_json", is_flag=True, help="Events as JSON Lines on standard output.")
def command(
    target: str | None,
    once: bool,
    config_name: str | None,
    worktree: bool,
    jobs: int,
    no_baseline: bool,
    keep_going: bool,
    model: str,
    quiet: bool,
    as_json: bool,
) -> int:
    """Work through FEATURE's stories, one fresh agent for each, until all are verified. Without a feature: through
    the tasks that were made from requirements."""
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    name = _only_plan(workspace) if target is None else target
    config = configuration.load(workspace.root)
    options = Options(once=once, jobs=jobs, baseline=not no_baseline, keep_going=keep_going, model=model)
    watching = Watching(quiet=quiet, as_json=as_json)
    if name == SPECS:
        raise build_instead()
    if name == REQUIREMENTS:
        if jobs > 1:
            raise RalphError("--jobs is for features.", remedy="Leave it out: these tasks are done one by one.")
        ended = run_requirements(workspace, config, config_name or "default", options, watching)
    else:
        if config_name:
            raise RalphError("--config is for the requirements' plan.", remedy="Leave it out, or leave the name out.")
        ended = run_feature(workspace, config, name, options, watching)
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


def run_feature(workspace: Workspace, config: Config, name: str, options: Options, watching: Watching) -> RunEnded:
    return run_request(workspace, config, _feature_job(workspace, config, name, options), options, watching)


def run_requirements(
    workspace: Workspace, config: Config, config_name: str, options: Options, watching: Watching
) -> RunEnded:
    from ralph.steps import pipeline
    from ralph.views.reports import Reports
    from ralph.workflows.requirements.preflight import preflight
    from ralph.workflows.requirements.workflow import Layout, RequirementsWorkflow, carried

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
    data = requirements_source(workspace).read(steps.plan)
    app = str(Layout(workspace=workspace, plan=steps.plan).read(data)[0].get("app", ""))
    held = git_read.top(workspace.root / app) == git_read.top(workspace.root)

    def make(root: Path) -> RequirementsWorkflow:
        where = root / app if held else workspace.slots / "1"
        title = (workspace.root / app).name
        return RequirementsWorkflow(Workspace(root=root), config, steps, where, templates=workspace.root, title=title)

    job = RunRequest(
        wanted=CheckoutRequest(
            target=REQUIREMENTS,
            branch=f"{BRANCH_PREFIX}{REQUIREMENTS}",
            folder=app,
            carry=carried(workspace, steps.plan),
        ),
        make=make,
        command=f"ralph run {REQUIREMENTS}",
        more='More work: `ralph add "what is missing"`.',
        listeners=(Reports(workspace.ralph),),
        figures=f"{RALPH}/aggregate.json",
    )
    return run_request(workspace, config, job, options.with_config(config_name), watching)


def _feature_job(workspace: Workspace, config: Config, name: str, options: Options) -> RunRequest:
    """Everything that can be wrong is found before anything is touched."""
    for role in (*config.working_roles, "verifier"):
        check_installed(config.provider_for(role), workspace.root)
    for template in ("run", "verify", *(["review"] if config.review.enabled else [])):
        prompts.check(template, workspace.root)
    located = features.locate(workspace, name)
    feature = located.feature
    data = located.read(workspace.root, feature.prd_json)
    if data is None:
        raise no_plan(name)
    document, plan = PRD.load(data, name=f"{feature.prd_json} ({located.where})")
    if is_outdated(document, located.read(workspace.root, feature.prd_md)):
        say(f"! prd.md has changed since prd.json was made from it: `ralph prd {name}`", fg="yellow", err=True)
    if not plan.branch.startswith(BRANCH_PREFIX):
        raise RalphError(
            f"The plan's branchName is {plan.branch!r}: Ralph works only on branches of its own.",
            remedy=f"Set it to {BRANCH_PREFIX}{name} in {feature.prd_json}.",
        )
    jobs = f" --jobs {options.jobs}" if options.jobs > 1 else ""
    return RunRequest(
        wanted=CheckoutRequest(target=name, branch=plan.branch, carry=(feature.prd_json, feature.prd_md)),
        make=lambda root: FeatureWorkflow(feature, config, root, templates=workspace.root),
        command=f"ralph run {name}{jobs}",
    )
