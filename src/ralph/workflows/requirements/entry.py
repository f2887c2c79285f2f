"""`ralph run requirements`: checks the preconditions and prepares the run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.steps import pipeline
from ralph.steps.pipeline import Pipeline
from ralph.views.reports import Reports
from ralph.workflows.checks import Check, bad_check
from ralph.workflows.plan_source import BRANCH_PREFIX
from ralph.workflows.requirements.preflight import preflight
from ralph.workflows.requirements.targets import source
from ralph.workflows.requirements.workflow import Layout, RequirementsWorkflow, carried, marker_of
from ralph.workflows.run_request import RunRequest
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace

DEFAULT = "default"
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
    app = _app(workspace, steps)
    return RunRequest(
        checkout=CheckoutRequest(
            target=target.name,
            branch=f"{BRANCH_PREFIX}{target.name}",
            folder=app,
            carry=carried(workspace, steps.plan),
        ),
        open=lambda root: _workflow(workspace, config, steps, app, root),
        command=f"ralph run {target.name}",
        more='More work: `ralph add "what is missing"`.',
        listeners=(Reports(workspace.ralph),),
        figures=f"{RALPH}/aggregate.json",
    )


def open_workflow(workspace: Workspace, config: Config, target: Target) -> RequirementsWorkflow:
    steps = pipeline.load(workspace, DEFAULT)
    found = source(workspace)
    marked = frozenset(spec.label for spec in steps.once if found.read(marker_of(spec)) is not None)
    return _workflow(workspace, config, steps, _app(workspace, steps), target.folder or workspace.root, marked)


def _app(workspace: Workspace, steps: Pipeline) -> str:
    """The application's folder, as the plan names it."""
    data = source(workspace).read(steps.plan)
    return str(Layout(workspace=workspace, plan=steps.plan).read(data)[0].get("app", ""))


def _workflow(
    workspace: Workspace,
    config: Config,
    steps: Pipeline,
    app: str,
    root: Path,
    marked: frozenset[str] = frozenset(),
) -> RequirementsWorkflow:
    """In a repository of its own, the application is where agents work; else it is a folder of the project."""
    is_inside = git_read.top(workspace.root / app) == git_read.top(workspace.root)
    where = root / app if is_inside else workspace.slots / "1"
    title = (workspace.root / app).name
    return RequirementsWorkflow(
        Workspace(root=root), config, steps, where, templates=workspace.root, title=title, marked=marked
    )
