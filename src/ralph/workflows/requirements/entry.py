"""`ralph run requirements`: checks the preconditions and prepares the run."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.steps import pipeline
from ralph.views.reports import Reports
from ralph.workflows.checks import Check, bad_check
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.requirements.preflight import preflight
from ralph.workflows.requirements.workflow import DEFAULT, app_of, carried, workflow_in
from ralph.workflows.run_request import RunRequest
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace

GENERAL = ("executor:", "verifier:", "git:", "gates:", "verify.default")


def checks(workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
    yield from preflight(workspace, config, pipeline.load(workspace, options.config or DEFAULT))


def examine(workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
    """Without the checks that `ralph doctor` makes for every project."""
    try:
        steps = pipeline.load(workspace, DEFAULT)
    except RalphError as error:
        yield bad_check(error)
        return
    yield from (check for check in preflight(workspace, config, steps) if not check.what.startswith(GENERAL))


def prepare(workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
    steps = pipeline.load(workspace, options.config or DEFAULT)
    app = app_of(workspace, steps)
    return RunRequest(
        checkout=CheckoutRequest(
            target=target.name,
            branch=f"{BRANCH_PREFIX}{target.name}",
            folder=app,
            carry=carried(workspace, steps.plan),
        ),
        open=lambda root: workflow_in(workspace, config, steps, app, root),
        command=f"ralph run {target.name}",
        more='More work: `ralph add "what is missing"`.',
        listeners=(Reports(workspace.ralph),),
        figures=f"{RALPH}/aggregate.json",
    )
