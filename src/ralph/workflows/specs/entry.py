"""`ralph run specs`: checks the preconditions and prepares the run."""

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
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.run_request import RunRequest
from ralph.workflows.specs.freshness import gone, outdated
from ralph.workflows.specs.targets import source
from ralph.workflows.specs.workflow import SpecsWorkflow
from ralph.workflows.target import Target
from ralph.workspace import PROGRESS, SPECS_PLAN, Workspace


def checks(workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
    return ()


def examine(workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
    try:
        plan = target.needed_plan()
    except RalphError as error:
        yield bad_check(error)
        return
    yield Check("good", f"{SPECS_PLAN}: {len(plan.specs)} specs, {len(plan.tasks)} tasks")
    for file in gone(workspace.root, plan):
        yield Check(
            "bad",
            f"{file} is in the plan but does not exist",
            "Restore it, or plan again with `ralph plan --from specs/`.",
        )
    for line in outdated(workspace.root, source(workspace).read(SPECS_PLAN)):
        yield Check("note", line, "Run `ralph plan --from specs/`.")


def prepare(workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
    for provider in config.providers_for(config.working_roles):
        check_installed(provider, workspace.root)
    for template in ("task", *other_templates(config)):
        prompts.check(template, workspace.root)
    plan = target.needed_plan()
    if not plan.specs:
        raise RalphError(
            f"Nothing is planned yet: {SPECS_PLAN} has no specs.", remedy="Plan them with `ralph plan --from specs/`."
        )
    missing = gone(workspace.root, plan)
    if missing:
        raise RalphError(
            f"{SPECS_PLAN} refers to spec files that do not exist:",
            details=tuple(f"  {file}" for file in missing),
            remedy="Restore them, or plan again without them: `ralph plan --from specs/`.",
        )
    return RunRequest(
        checkout=CheckoutRequest(
            target=target.name,
            branch=f"{BRANCH_PREFIX}{target.name}",
            defers_commit=target.defers_commit,
            own_files=(SPECS_PLAN, PROGRESS),
            carry=(SPECS_PLAN, PROGRESS),
        ),
        open=lambda root: SpecsWorkflow(config, root, templates=workspace.root),
        command=target.command,
        more="More work: write another spec, then run `ralph plan --from specs/`.",
        warnings=stale(workspace),
    )


def stale(workspace: Workspace) -> tuple[str, ...]:
    """How the plan differs from the specs it was made from."""
    lines = outdated(workspace.root, source(workspace).read(SPECS_PLAN))
    return tuple(f"{line}. Run `ralph plan --from specs/`." for line in lines)
