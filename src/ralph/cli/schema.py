"""`ralph schema NAME`: the JSON Schema of a file, for editors and for other programs."""

from __future__ import annotations

import click

NAMES = ("config", "prd", "script")


@click.command(name="schema")
@click.argument("name", type=click.Choice(NAMES))
def command(name: str) -> int:
    """Print the JSON Schema of ralph.config.json (config), prd.json (prd) or a scripted agent's script."""
    match name:
        case "config":
            from ralph.config import schema_text
        case "prd":
            from ralph.stores.prd_schema import schema_text
        case _:
            from ralph.testing.scripted import schema_text
    click.echo(schema_text(), nl=False)
    return 0
