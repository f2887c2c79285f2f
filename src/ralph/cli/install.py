"""`ralph install PROGRAM`: writes commands for another program that call Ralph."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.integrations import FILES, FileChange, install, stop_hook
from ralph.views.lines import say


@click.command(
    name="install",
    epilog="""\b
Examples:
  ralph install claude               /ralph and /ralph-start in Claude Code, for this project
  ralph install claude --stop-hook   the same, and Claude Code may stop only when the gates are green
  ralph install copilot              Ralph and its four roles as agents in VS Code and Copilot CLI
  ralph install skill                a skill for Claude Code, Codex, Gemini, OpenCode and others that read skills
  ralph uninstall claude             remove what was written

\b
These commands call `ralph` and never edit its state. Files that you wrote or changed are not overwritten.""",
)
@click.argument("program", type=click.Choice(sorted(FILES)))
@click.option("--stop-hook", "with_hook", is_flag=True, help="Claude Code: let it stop only when the gates are green.")
def command(program: str, with_hook: bool) -> int:
    """Write PROGRAM's commands for Ralph into this project."""
    root = workspaces.find(Path.cwd()).root
    if with_hook and program != "claude":
        raise RalphError("--stop-hook is for Claude Code only.", remedy="ralph install claude --stop-hook")
    show(install(root, program))
    if with_hook:
        added = stop_hook.add(root)
        what = f"added the Stop hook `{stop_hook.COMMAND}`" if added else "already has the Stop hook"
        show([FileChange(path=stop_hook.SETTINGS, what=what, done=added)])
    return 0


def show(changes: list[FileChange]) -> None:
    for change in changes:
        say(f"{change.path}: {change.what}", fg="green" if change.done else None)
