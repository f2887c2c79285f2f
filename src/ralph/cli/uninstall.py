"""`ralph uninstall PROGRAM`: removes what `ralph install` wrote, and only that."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.install import show
from ralph.integrations import FILES, FileChange, stop_hook, uninstall


@click.command(name="uninstall", epilog="Example: ralph uninstall claude")
@click.argument("program", type=click.Choice(sorted(FILES)))
def command(program: str) -> int:
    """Remove the commands that `ralph install` wrote for PROGRAM. Files that you changed stay."""
    root = workspaces.find(Path.cwd()).root
    show(uninstall(root, program))
    if program == "claude" and stop_hook.remove(root):
        show([FileChange(path=stop_hook.SETTINGS, what="removed the Stop hook", done=True)])
    return 0
