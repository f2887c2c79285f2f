"""`ralph validate`: every mistake in the configuration, the plans and the prompt templates."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.complete import features
from ralph.errors import EXIT_WRONG, RalphError
from ralph.validation import Mistakes, nearest
from ralph.workflows.features import Located, everything, locate
from ralph.workspace import Workspace


@click.command(name="validate")
@click.argument("feature", required=False, shell_complete=features)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(feature: str | None, as_json: bool) -> int:
    """Check ralph.config.json and FEATURE's plan, or every plan."""
    workspace = workspaces.find(Path.cwd())
    found = [locate(workspace, feature)] if feature else everything(workspace)
    results = {configuration.NAME: _mistakes_in_config(workspace)}
    for located in found:
        where = "" if located.folder == workspace.root else f" ({located.where})"
        results[located.feature.prd_json + where] = _mistakes_in_plan(workspace, located)
    for path in sorted((workspace.ralph / "prompts").glob("*.md")):
        results[str(path.relative_to(workspace.root))] = _mistakes_in_template(workspace, path.stem)
    good = not any(results.values())
    if as_json:
        click.echo(json.dumps({"valid": good, "files": results}, indent=2))
    else:
        for name, mistakes in results.items():
            click.echo(f"{'✗' if mistakes else '✓'} {name}")
            for mistake in mistakes:
                click.echo(f"    {mistake}")
    return 0 if good else EXIT_WRONG


def _mistakes_in_config(workspace: Workspace) -> list[str]:
    try:
        configuration.load(workspace.root)
    except RalphError as error:
        return _texts(error)
    return []


def _mistakes_in_plan(workspace: Workspace, located: Located) -> list[str]:
    from ralph.stores import prd_schema

    data = located.read(workspace.root, located.feature.prd_json)
    if data is None:
        return []  # a draft: nothing to check yet
    try:
        prd_schema.parse(data, name=located.feature.prd_json)
    except RalphError as error:
        return _texts(error)
    return []


def _mistakes_in_template(workspace: Workspace, name: str) -> list[str]:
    from ralph import prompts

    if name not in prompts.NAMES:
        return [f"there is no template of this name{nearest(name, prompts.NAMES)}"]
    try:
        prompts.check(name, workspace.root)
    except RalphError as error:
        return [error.what, error.remedy]
    return []


def _texts(error: RalphError) -> list[str]:
    return error.mistakes if isinstance(error, Mistakes) else [error.what]
