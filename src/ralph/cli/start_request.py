"""`ralph start` without a mode: a request's plan, checked before anything is touched."""

from __future__ import annotations

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.cli.running import RunRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.workflows.plan_source import PlanSource
from ralph.workflows.registry import REQUEST, find
from ralph.workflows.request.execution_log import ExecutionLog
from ralph.workflows.request.files import every_path
from ralph.workflows.request.locate import LocatedRequest, branch_for, locate
from ralph.workflows.request.workflow import RequestWorkflow
from ralph.workspace import Workspace


def request_job(workspace: Workspace, config: Config, options: Options) -> RunRequest:
    """Everything that can be wrong is found before anything is touched."""
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
    branch, carried = branch_for(workspace, located), _carried(workspace, located)
    return RunRequest(
        wanted=CheckoutRequest(target=REQUEST, branch=branch, carry=carried),
        make=lambda root: RequestWorkflow(config, root, branch, templates=workspace.root, carried=carried),
        command="ralph start" + (f" --jobs {options.jobs}" if options.jobs > 1 else ""),
        more='The next one: `ralph plan "What you want"`.',
        listeners=(ExecutionLog(workspace.root),),
    )


def _carried(workspace: Workspace, located: LocatedRequest) -> tuple[str, ...]:
    """The plan's files, and those that an earlier request left in the last commit: the branch is to have these, and
    not those."""
    if located.branch:
        return ()
    committed = PlanSource(root=workspace.root, folder=None, revision="HEAD")
    return tuple(dict.fromkeys((*every_path(located.files), *every_path(committed))))
