"""`ralph start` without a mode: a request's plan, checked before anything is touched."""

from __future__ import annotations

import click

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.cli.running import Job
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git import look
from ralph.loop.checkout import Wanted
from ralph.loop.engine import Options
from ralph.stores.request_files import STATE, all_paths
from ralph.views.execution_log import ExecutionLog
from ralph.workflows.request import RequestWorkflow
from ralph.workflows.requests import Located, branch_for, locate
from ralph.workflows.targets import REQUEST, find
from ralph.workspace import Workspace


def request_job(workspace: Workspace, config: Config, options: Options) -> tuple[Job, Options]:
    """The run that was asked for; a plan that lives on its own branch goes on there, with one job at least."""
    for role in config.working_roles:
        check_installed(config.provider_for(role), workspace.root)
    for template in ("request-task", *(["review"] if config.review.enabled else [])):
        prompts.check(template, workspace.root)
    located = locate(workspace)
    if located is None:
        raise RalphError(
            "There is nothing to start here yet.",
            remedy='Plan it with `ralph plan "What you want"`; for specs it is `ralph start plan`.',
        )
    find(workspace, REQUEST).needed_plan()  # what is wrong with it is told before anything begins
    asked = options.jobs
    if located.branch and _is_here(workspace, located):
        if asked:
            raise RalphError(
                f"The branch {located.branch.name} is checked out here, so nothing can land on it.",
                remedy="Check out another one (git switch -), or start without --jobs.",
            )
    elif located.branch and not asked:
        options = options.with_jobs(1)
    if options.jobs and not config.commits.prd_changes:
        raise RalphError(
            "--jobs needs commits.prdChanges: a task's work and its state land in one commit.",
            remedy="Set it to true in ralph.config.json, or start without --jobs.",
        )
    branch = branch_for(workspace, located) if options.jobs else ""
    if branch and not located.branch and not look.show(workspace.root, "ls-files", "--", STATE):
        text = f"! The plan is not committed here: git will not merge {branch} over it. `git add .ralph && git commit`"
        click.secho(text, fg="yellow", err=True)
    return Job(
        wanted=Wanted(
            target=REQUEST,
            branch=branch,
            worktree=bool(branch),
            lands=bool(branch),
            home=branch.rpartition("/")[2],
            carry=() if located.branch else all_paths(located.files),
        ),
        make=lambda root: RequestWorkflow(config, root, branch),
        command="ralph start" + (f" --jobs {asked}" if asked else ""),
        more='The next one: `ralph plan "What you want"`.',
        listeners=(ExecutionLog(workspace.root),),
    ), options


def _is_here(workspace: Workspace, located: Located) -> bool:
    return located.folder is not None and located.folder.resolve() == workspace.root.resolve()
