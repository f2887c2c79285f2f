"""`ralph completion SHELL`: a completion script for bash, zsh or fish."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ralph.views.lines import say_exactly


@click.command(
    name="completion",
    epilog="""\b
Examples:
  bash:  echo 'eval "$(ralph completion bash)"' >> ~/.bashrc
  zsh:   echo 'eval "$(ralph completion zsh)"' >> ~/.zshrc
  fish:  ralph completion fish > ~/.config/fish/completions/ralph.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a completion script for SHELL."""
    from ralph.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    say_exactly(kind(app, {}, "ralph", "_RALPH_COMPLETE").source())
    return 0
