"""`ralph install PROGRAM`: writes commands for another program that call Ralph."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.integrations import FILES, FileChange, install


@click.command(
    name="install",
    epilog="""\b
Examples:
  ralph install claude      /ralph and /ralph-start in Claude Code, for this project
  ralph install copilot     Ralph and its four roles as agents in VS Code, for this project
  ralph uninstall claude    take them away again
\b
They call `ralph` and never edit its state. A file of yours with the same name is left as it is.""",
)
@click.argument("program", type=click.Choice(sorted(FILES)))
def command(program: str) -> int:
    """Write PROGRAM's commands for Ralph into this project."""
    show(install(workspaces.find(Path.cwd()).root, program))
    return 0


def show(changes: list[FileChange]) -> None:
    for change in changes:
        click.secho(f"{change.path}: {change.what}", fg="green" if change.done else None)
