"""The checks before a run of the requirements' plan, each with its remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ralph import prompts
from ralph.agent.call import check_installed
from ralph.agent.dialects import takes_tools
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.plan.work import StepSpec, WorkKind
from ralph.steps.agent_settings import CallSettings
from ralph.steps.pipeline import Pipeline
from ralph.steps.registry import step_type
from ralph.steps.review import ReviewStep
from ralph.verify.gate_list import default_gates
from ralph.workflows.checks import Check
from ralph.workflows.requirements.targets import source
from ralph.workflows.requirements.workflow import REQUIREMENTS, Layout, marker_of, prompt_name
from ralph.workflows.review import reviewed
from ralph.workspace import Workspace


def preflight(workspace: Workspace, config: Config, pipeline: Pipeline) -> Iterator[Check]:
    """Make all checks; the caller decides what to do about them."""
    pipeline = reviewed(pipeline, config)
    yield Check("good", f"{pipeline.path}: {', '.join(spec.label for spec in pipeline.steps)}")
    layout = Layout(workspace=workspace, plan=pipeline.plan)
    app: str | None = None
    try:
        data = source(workspace).read(pipeline.plan)
        document, plan = layout.read(data)
        app = str(document.get("app", ""))
        yield Check("good", f"{pipeline.plan}: {len(plan.tasks)} task{'s' if len(plan.tasks) != 1 else ''}")
        yield from _names([task.id for task in plan.tasks], pipeline)
    except RalphError as error:
        yield Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
    yield _requirements(workspace)
    yield from _steps(workspace, config, pipeline)
    yield from _agents(workspace, config, pipeline)
    if app is not None:
        yield _repository(workspace.root / app)
    yield _gates(config, pipeline)


def _names(ids: list[str], pipeline: Pipeline) -> Iterator[Check]:
    for spec in pipeline.once:
        if spec.label in ids:
            yield Check("bad", f"{spec.label!r} is the name of both a set-up step and a task", "Rename one.")


def _requirements(workspace: Workspace) -> Check:
    if source(workspace).read(REQUIREMENTS) is None and not (workspace.root / REQUIREMENTS).is_file():
        return Check("bad", f"{REQUIREMENTS} does not exist", "Write the requirements to that file: agents read it.")
    return Check("good", REQUIREMENTS)


def _steps(workspace: Workspace, config: Config, pipeline: Pipeline) -> Iterator[Check]:
    for spec in pipeline.steps:
        if isinstance(spec.settings, CallSettings):
            kind = WorkKind.SETUP if spec in pipeline.once else WorkKind.TASK
            yield _prompt(workspace, spec, prompt_name(kind, spec))
            role = "reviewer" if spec.type == "review" else "executor"
            if spec.settings.allowed_tools and not takes_tools(config.provider_for(role)):
                yield Check(
                    "note", f"{spec.label}: this agent has no option for allowed_tools, so Ralph ignores the setting"
                )
        marker = marker_of(spec)
        if marker and not _can_be_written(workspace.root / marker):
            yield Check("bad", f"{spec.label}: marker_file {marker} cannot be written", "Choose another folder for it.")


def _prompt(workspace: Workspace, spec: StepSpec, name: str) -> Check:
    file = spec.settings.prompt_file if isinstance(spec.settings, CallSettings) else None
    try:
        prompts.check(name, workspace.root, file=file)
    except RalphError as error:
        return Check("bad", f"{spec.label}: {error.what}", error.remedy)
    return Check("good", f"{spec.label}: prompt {file or name}")


def _can_be_written(path: Path) -> bool:
    """Whether a file can be created there: the nearest existing path is a folder, and it is writable."""
    if path.is_dir():
        return False
    above = next((parent for parent in path.parents if parent.exists()), path)
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)


def _agents(workspace: Workspace, config: Config, pipeline: Pipeline) -> Iterator[Check]:
    kinds = [step_type(spec.type) for spec in pipeline.steps]
    testers = ["tester"] if config.acceptance.enabled else []
    roles = [*testers, "executor", *(["reviewer"] if any(issubclass(kind, ReviewStep) for kind in kinds) else [])]
    agents = [(role, agent.provider) for role in roles for agent in config.agents_for(role)]
    for role, provider in agents:
        try:
            check_installed(provider, workspace.root)
        except RalphError as error:
            yield Check("bad", error.what, error.remedy)
        else:
            model = f", model {provider.model}" if provider.model else ""
            yield Check("good", f"{role}: {Path(provider.command).name}{model}")


def _repository(folder: Path) -> Check:
    where = folder.name
    if not folder.is_dir():
        return Check("bad", f"the application's folder {where} does not exist", f"Create it with `git init {where}`.")
    if git_read.top(folder) is None:
        return Check("bad", f"{where} is not in a git repository", "git init && git add . && git commit")
    if not git_read.show(folder, "rev-parse", "--verify", "--quiet", "HEAD").strip():
        return Check("bad", f"the repository of {where} has no commits yet", "git add . && git commit")
    return Check("good", f"git: {where}")


def _gates(config: Config, pipeline: Pipeline) -> Check:
    if not pipeline.verifies:
        return Check("note", "the verify step is disabled: tasks will be UNVERIFIED", "Enable the step.")
    gates = default_gates(config)
    if not any(gate.required for gate in gates):
        return Check(
            "note",
            "no gate is required: tasks will be UNVERIFIED"
            if gates
            else "verify.default is empty: tasks will be UNVERIFIED",
            'Add your checks to ralph.config.json, for example "verify": {"default": ["make test"]}.',
        )
    return Check("good", f"gates: {', '.join(gate.name for gate in gates)}")
