"""`ralph help [COMMAND]`: the same as `ralph COMMAND --help`."""

from __future__ import annotations

import click

from ralph.cli.complete import commands
from ralph.views.lines import say


@click.command(name="help", epilog="Example: ralph help run")
@click.argument("name", metavar="[COMMAND]", required=False, shell_complete=commands)
@click.pass_context
def command(ctx: click.Context, name: str | None) -> int:
    """Show the help of COMMAND, or list all commands."""
    group = ctx.parent.command if ctx.parent else None
    assert isinstance(group, click.Group) and ctx.parent, "it is a command of `ralph`"
    if name is None:
        say(group.get_help(ctx.parent))
        return 0
    _, found, _ = group.resolve_command(ctx.parent, [name])
    assert found, "an unknown one was refused"
    with click.Context(found, info_name=name, parent=ctx.parent) as inner:
        say(found.get_help(inner))
    return 0
