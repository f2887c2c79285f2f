"""`ralph run request`: checks the preconditions and prepares the run."""

from __future__ import annotations

from collections.abc import Iterable

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.workflows.acceptance import other_templates
from ralph.workflows.checks import Check, bad_check
from ralph.workflows.plan_source import PlanSource
from ralph.workflows.request.execution_log import ExecutionLog
from ralph.workflows.request.files import every_path
from ralph.workflows.request.locate import LocatedRequest, branch_for, located_request
from ralph.workflows.request.phases import NEXT_STEP
from ralph.workflows.request.workflow import RequestWorkflow
from ralph.workflows.run_request import RunRequest
from ralph.workflows.target import Target
from ralph.workspace import Workspace


def checks(workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
    return ()


def examine(workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
    phase = located_request(workspace).phase
    try:
        plan = target.plan()
    except RalphError as error:
        yield bad_check(error)
        return
    tasks = f", {len(plan.tasks)} tasks" if plan else ""
    what_now = f" ({NEXT_STEP[phase]})" if phase else ""
    yield Check("good", f"the request: phase {phase.value if phase else 'unknown'}{tasks}{what_now}")


def prepare(workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
    for provider in config.providers_for(config.working_roles):
        check_installed(provider, workspace.root)
    for template in ("request-task", *other_templates(config)):
        prompts.check(template, workspace.root)
    located = located_request(workspace)
    target.needed_plan()  # report a broken plan before anything starts
    branch, carried = branch_for(workspace, located), _carried(workspace, located)
    return RunRequest(
        checkout=CheckoutRequest(target=target.name, branch=branch, carry=carried),
        open=lambda root: RequestWorkflow(config, root, branch, templates=workspace.root, carried=carried),
        command=target.command,
        more='Next request: `ralph plan "What you want"`.',
        listeners=(ExecutionLog(workspace.root),),
    )


def _carried(workspace: Workspace, located: LocatedRequest) -> tuple[str, ...]:
    """The plan's files, and an earlier request's files in the last commit, which the branch must not keep."""
    if located.branch:
        return ()
    committed = PlanSource(root=workspace.root, folder=None, revision="HEAD")
    return tuple(dict.fromkeys((*every_path(located.files), *every_path(committed))))
