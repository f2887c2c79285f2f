"""`ralph uninstall PROGRAM`: removes what `ralph install` wrote, and only that."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.install import show
from ralph.integrations import FILES, uninstall


@click.command(name="uninstall", epilog="Example: ralph uninstall claude")
@click.argument("program", type=click.Choice(sorted(FILES)))
def command(program: str) -> int:
    """Take away PROGRAM's commands that `ralph install` wrote; what you changed stays."""
    show(uninstall(workspaces.find(Path.cwd()).root, program))
    return 0
