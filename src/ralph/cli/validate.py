"""`ralph validate`: reports every mistake in the configurations, the plans and the prompt templates."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.errors import EXIT_ERROR, RalphError
from ralph.git.read import top
from ralph.stores.held_out import HeldOutStore
from ralph.validation import Mistakes
from ralph.views.lines import say, say_json
from ralph.workflows.registry import everything, find
from ralph.workflows.request.targets import REQUEST
from ralph.workflows.target import Target
from ralph.workspace import Workspace


@click.command(name="validate")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str | None, as_json: bool) -> int:
    """Check ralph.config.json, step configurations, prompts, and TARGET's plan, or every plan."""
    workspace = workspaces.find(Path.cwd())
    found = [find(workspace, target)] if target else everything(workspace)
    results = {configuration.NAME: _mistakes_in_config(workspace)}
    for item in found:
        where = "" if item.folder == workspace.root else f" ({item.where})"
        results[item.file + where] = _mistakes_in_plan(item, workspace)
        if item.workflow == REQUEST:
            results |= _mistakes_in_answers(workspace)
    for path in sorted((workspace.ralph / "prompts").glob("*.md")):
        results[str(path.relative_to(workspace.root))] = _mistakes_in_template(workspace, path.stem)
    for path in sorted((workspace.ralph / "configs").glob("*.json")):
        results[str(path.relative_to(workspace.root))] = _mistakes_in_steps(workspace, path.stem)
    good = not any(results.values())
    if as_json:
        say_json({"valid": good, "files": results})
    else:
        for name, mistakes in results.items():
            say(f"{'✗' if mistakes else '✓'} {name}")
            for mistake in mistakes:
                say(f"    {mistake}")
    return 0 if good else EXIT_ERROR


def _mistakes_in_config(workspace: Workspace) -> list[str]:
    try:
        config = configuration.load(workspace.root)
        repository = top(workspace.root)
        if config.held_out.folder and repository:
            HeldOutStore.of(workspace, config.held_out.folder).check_outside(repository)
    except RalphError as error:
        return _texts(error)
    return []


def _mistakes_in_plan(target: Target, workspace: Workspace) -> list[str]:
    from ralph.workflows.specs.freshness import gone

    try:
        plan = target.plan()
    except RalphError as error:
        return _texts(error)
    return [f"{file} is in the plan but does not exist" for file in gone(workspace.root, plan)] if plan else []


def _mistakes_in_answers(workspace: Workspace) -> dict[str, list[str]]:
    """Check a request's research and decisions."""
    from ralph.workflows.request.answers import parse_decisions, parse_research
    from ralph.workflows.request.files import DECISIONS, RESEARCH
    from ralph.workflows.request.locate import locate

    located = locate(workspace)
    results: dict[str, list[str]] = {}
    for path, parse in ((RESEARCH, parse_research), (DECISIONS, parse_decisions)):
        data = located.files.read(path) if located else None
        if data is not None:
            results[path] = []
            try:
                parse(data)
            except RalphError as error:
                results[path] = _texts(error)
    return results


def _mistakes_in_steps(workspace: Workspace, name: str) -> list[str]:
    """Check a step configuration, and the prompt files it names."""
    from ralph import prompts
    from ralph.plan.work import WorkKind
    from ralph.steps import pipeline
    from ralph.steps.agent_settings import CallSettings
    from ralph.workflows.requirements.workflow import prompt_name

    mistakes = []
    try:
        loaded = pipeline.load(workspace, name)
    except RalphError as error:
        return _texts(error)
    for spec in loaded.steps:
        if isinstance(spec.settings, CallSettings) and spec.settings.prompt_file:
            try:
                prompts.check(prompt_name(WorkKind.TASK, spec), workspace.root, file=spec.settings.prompt_file)
            except RalphError as error:
                mistakes.append(f"{spec.label}: {error.what}")
    return mistakes


def _mistakes_in_template(workspace: Workspace, name: str) -> list[str]:
    from ralph import prompts

    if name not in prompts.NAMES:
        return _stray_template(workspace, name)
    try:
        prompts.check(name, workspace.root)
    except RalphError as error:
        return [error.what, error.remedy]
    return []


def _stray_template(workspace: Workspace, name: str) -> list[str]:
    """Report a file that replaces no template, unless a step configuration names it."""
    from ralph import prompts
    from ralph.validation import nearest

    configs = (workspace.ralph / "configs").glob("*.json")
    if any(f"prompts/{name}.md" in path.read_text(encoding="utf-8", errors="replace") for path in configs):
        return []
    return [f"there is no template with this name{nearest(name, prompts.NAMES)}"]


def _texts(error: RalphError) -> list[str]:
    return error.mistakes if isinstance(error, Mistakes) else [error.what]
