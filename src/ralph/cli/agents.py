"""`ralph agents`: lists the agents that Ralph knows, and which of them are installed here."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ralph.agent.dialects.table import DIALECTS, dialect_names
from ralph.agent.installed import InstalledAgent, survey
from ralph.views.lines import say, say_json


@click.command(
    name="agents",
    epilog="""\b
Examples:
  ralph agents          the agents, those that are installed first
  ralph agents --json   with how each is called and installed

\b
Any other command works as an agent too: set provider.command in ralph.config.json. Its output is then
read as plain text.""",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """List the agents that Ralph knows, and which of them are installed here."""
    found = survey(Path.cwd())
    if as_json:
        say_json([_row(one) for one in found])
        return 0
    for one in sorted(found, key=lambda one: not one.path):
        _print(one)
    added = [name for name in dialect_names() if name not in DIALECTS]
    if added:
        say(f"Dialects from other packages: {', '.join(added)}.")
    say("→ `ralph init --provider NAME` writes the configuration for one of them.")
    return 0


def _print(one: InstalledAgent) -> None:
    name, title = one.agent.name.ljust(9), one.agent.title
    if one.path:
        version = f" {one.version}" if one.version else ""
        how = f"structured output, dialect {one.dialect}" if one.structured else "plain text"
        say(f"✓ {name} {title}{version}: {how} ({one.path})")
    else:
        say(f"· {name} {title}: not installed ({one.agent.install})", dim=True)
    acp = one.agent.acp
    if acp:
        missing = f" (not installed: {acp.install})" if acp.install and not one.acp_path else ""
        say(f"  {'':9} over ACP: {shlex.join((acp.command, *acp.args))}{missing}", dim=not one.acp_path)


def _row(one: InstalledAgent) -> dict[str, object]:
    agent = one.agent
    return {
        "name": agent.name,
        "title": agent.title,
        "installed": bool(one.path),
        "path": one.path or None,
        "version": one.version or None,
        "dialect": one.dialect,
        "structured": one.structured,
        "command": agent.command,
        "args": list(agent.args),
        "install": agent.install,
        "permission": agent.permission_note,
        "state": [f"~/{path}" for path in agent.state],
        "takesModel": bool(agent.model_args),
        "takesContext": bool(agent.context_args),
        "takesTools": bool(agent.tools_args),
        "acp": _acp(one),
    }


def _acp(one: InstalledAgent) -> dict[str, object] | None:
    """Return how the agent speaks the Agent Client Protocol; None if it does not."""
    acp = one.agent.acp
    if acp is None:
        return None
    return {
        "command": acp.command,
        "args": list(acp.args),
        "installed": bool(one.acp_path),
        "path": one.acp_path or None,
        "install": acp.install or one.agent.install,
    }
