"""`ralph upgrade`: Ralph does not replace itself; it says how a person does."""

from __future__ import annotations

import sys

import click

from ralph import __version__


@click.command(name="upgrade")
def command() -> int:
    """Say how to get a newer Ralph. It never downloads anything by itself."""
    click.echo(f"This is Ralph {__version__}, running on {sys.executable}.")
    click.echo("To upgrade, use what you installed it with:")
    click.echo("  pipx upgrade ralph-run")
    click.echo("  uv tool upgrade ralph-run")
    click.echo(f"  {sys.executable} -m pip install --upgrade ralph-run")
    click.echo("From a clone: git pull, then install it again as you did before.")
    return 0
