"""`ralph upgrade`: prints how to upgrade. Ralph does not replace itself."""

from __future__ import annotations

import sys

import click

from ralph import __version__, installation
from ralph.views.lines import say


@click.command(name="upgrade")
def command() -> int:
    """Show how to get a newer Ralph. This command downloads nothing."""
    found = installation.this()
    say(f"This is Ralph {__version__}, {found.manner.value}, running on {sys.executable}.")
    say("To upgrade it:")
    say(f"  {' && '.join(found.upgrade())}")
    return 0
