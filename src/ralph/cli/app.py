"""The table of commands. Each command's module is imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from ralph import __version__
from ralph.cli import colour

SECTIONS = {
    "Start": {
        "init": "Set up a project: ralph.config.json and .ralph/.",
        "plan": "Make or change a plan: from a sentence, a file or specs, or for a feature.",
        "run": "Work through a plan until every task in it is verified.",
    },
    "Inspect": {
        "watch": "Watch a run in a full screen, and steer it.",
        "status": "Show the state of every plan and task.",
        "ui": "Show all plans and runs in a browser, live.",
        "next": "Show which task comes next.",
        "report": "Tell what was built, what it took, and what to look at first.",
        "diff": "Show what landed, for a plan or a task.",
        "attempts": "List every attempt with its diff, or restore one.",
        "logs": "Show what happened in a run; --follow one that is running.",
    },
    "Decide": {
        "verify": "Run the gates, without any agent.",
        "accept": "Mark a task as accepted by you.",
        "decide": "Answer what a task asks of you.",
        "retry": "Retry blocked tasks, with a note if you like.",
    },
    "Maintain": {
        "doctor": "Check that Ralph has everything it needs.",
        "clean": "Remove what finished work leaves behind.",
    },
}
MORE = {
    "pause": "Pause the run that is under way.",
    "resume": "Let a paused run go on.",
    "stop": "End the run that is under way.",
    "note": "Tell the next agent at a task something.",
    "edit": "Change what a task asks for.",
    "skip": "Leave a task out.",
    "hold-out": "Keep checks where agents do not see them.",
    "trust": "Approve what this project's configuration starts on your machine.",
    "approve": "Approve what a held task changed about the checks (`ralph decide --approve`).",
    "demo": "Watch a complete run in seconds, with a scripted agent.",
    "prd": "Make or change a feature's plan (`ralph plan NAME`).",
    "start": "Run the request; `start plan`, `start build`: plan and run the specs.",
    "session": "Plan, build and review a request with four roles.",
    "add": "Add work to a plan made from requirements.",
    "learnings": "Show what agents learned along the way.",
    "worktrees": "List Ralph's working copies, their size, and which can be removed.",
    "attest": "Show or verify the receipts of commits, in any clone.",
    "agents": "List the agents that Ralph knows, and which are installed.",
    "validate": "Check the configurations, the plans and the prompts.",
    "config": "Show the configuration in force, and where each value comes from.",
    "schema": "Print the JSON Schema of a file.",
    "scripted": "A scripted agent, to try a configuration without a model.",
    "notify": "Try the notifications: send a test message to each.",
    "install": "Install Ralph's commands and roles in another program: claude, copilot.",
    "uninstall": "Remove what `ralph install` wrote.",
    "completion": "Print or install completion for your shell.",
    "man": "Print or install the manual page.",
    "upgrade": "Show how to get a newer Ralph.",
    "help": "Show the help of a command.",
}
"""Aliases, and rarely used commands. `ralph --help` lists them by name."""
COMMANDS = {**{name: text for commands in SECTIONS.values() for name, text in commands.items()}, **MORE}


class Commands(click.Group):
    """Finds a command in the table above, and imports only its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"ralph.cli.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command)
        if not any(parameter.name == "color" for parameter in command.params):
            command.params.append(colour.option(is_group=False))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            from ralph.validation import nearest

            ctx.fail(f"There is no command {args[0]!r}{nearest(args[0], self.list_commands(ctx)) or '.'}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # whatever the command returns
        """Leave nothing below the printed lines, however the command ends."""
        try:
            return super().invoke(ctx)
        finally:
            area = sys.modules.get("ralph.views.area")  # most commands draw nothing
            if area:
                area.clear()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()))
        with formatter.section("More"):
            formatter.write_text(f"{', '.join(MORE)}. See them with `ralph help COMMAND`.")


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First time? Try `ralph demo`. Then, in your own project: `ralph init`.",
)
@click.version_option(__version__, "-V", "--version", message="ralph %(version)s")
@click.option("-C", "folder", type=click.Path(exists=True, file_okay=False), help="Run as if started in this folder.")
@click.option("--debug", is_flag=True, help="Show a traceback for an error.")
def app(folder: str | None, debug: bool) -> None:
    """Ralph runs any AI coding agent in a loop, one fresh agent for each small task, and believes nothing it
    says: only your own checks make a task pass."""
    if folder:
        os.chdir(folder)


app.params.append(colour.option(is_group=True))
