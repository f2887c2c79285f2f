"""`ralph run FEATURE`: checks the preconditions and prepares the run."""

from __future__ import annotations

from collections.abc import Iterable

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.workflows.acceptance import other_templates
from ralph.workflows.checks import Check
from ralph.workflows.feature import locate
from ralph.workflows.feature.locate import is_outdated
from ralph.workflows.feature.workflow import FeatureWorkflow
from ralph.workflows.formats import PRD
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.run_request import RunRequest
from ralph.workflows.target import Target
from ralph.workspace import Workspace


def checks(workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
    return ()


def examine(workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
    return ()


def prepare(workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
    for provider in config.providers_for((*config.working_roles, "verifier")):
        check_installed(provider, workspace.root)
    for template in ("run", "verify", *other_templates(config)):
        prompts.check(template, workspace.root)
    name = target.name
    located = locate.locate(workspace, name)
    feature = located.feature
    data = located.read(workspace.root, feature.prd_json)
    if data is None:
        raise RalphError(
            f"The feature {name!r} has no prd.json yet.", remedy=f"Finalize its PRD with `ralph plan {name}`."
        )
    document, plan = PRD.load(data, name=f"{feature.prd_json} ({located.where})")
    if not plan.branch.startswith(BRANCH_PREFIX):
        raise RalphError(
            f"The plan's branchName is {plan.branch!r}, but Ralph works only on its own branches.",
            remedy=f"Set it to {BRANCH_PREFIX}{name} in {feature.prd_json}.",
        )
    outdated = is_outdated(document, located.read(workspace.root, feature.prd_md))
    return RunRequest(
        checkout=CheckoutRequest(target=name, branch=plan.branch, carry=(feature.prd_json, feature.prd_md)),
        open=lambda root: FeatureWorkflow(feature, config, root, templates=workspace.root),
        command=f"ralph run {name}",
        warnings=(f"prd.md has changed since prd.json was made. Run `ralph plan {name}`.",) if outdated else (),
    )
