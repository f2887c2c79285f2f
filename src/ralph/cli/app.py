"""The table of commands; each one's module is imported when it is called."""

from __future__ import annotations

import importlib
import os

import click

from ralph import __version__
from ralph.cli import colour

SECTIONS = {
    "Make a plan": {
        "init": "Write ralph.config.json and .ralph/; with --requirements or --specs, more.",
        "prd": "Make or change a feature's plan: questions, PRD, stories.",
        "plan": "Plan a request: research, decisions, tasks.",
        "add": "More work for a plan that was made from requirements.",
    },
    "Work on it": {
        "start": "Work through a request's plan; with plan or build, through specs.",
        "session": "Plan, ask, build and review, each by a role of its own.",
        "run": "Work through a plan until every task in it is verified.",
        "verify": "Run the gates, without any agent.",
        "accept": "Vouch for a task that needs no work.",
        "retry": "Have blocked tasks tried again.",
    },
    "Look": {
        "status": "Where every story and task stands.",
        "next": "Which one comes next.",
        "attempts": "Every attempt that was made, with its diff; take one back.",
        "learnings": "What agents learned on the way.",
        "logs": "What happened in a run.",
        "worktrees": "Ralph's working copies: how large they are, and which can go.",
        "clean": "Remove what finished work leaves behind.",
    },
    "Help": {
        "demo": "See the whole thing work, with a scripted agent, in seconds.",
        "doctor": "Check that everything Ralph needs is here.",
        "validate": "Check the configurations, the plans and the prompts.",
        "schema": "Print the JSON Schema of a file.",
        "scripted": "A scripted agent, to try a configuration without a model.",
        "install": "Ralph's commands and roles for another program: claude, copilot.",
        "uninstall": "Take those away again.",
        "completion": "Print a completion script for your shell.",
        "upgrade": "How to get a newer Ralph.",
    },
}


class Commands(click.Group):
    """Finds a command in the table above and imports its module only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in SECTIONS.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"ralph.cli.{cmd_name}")
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

            ctx.fail(f"There is no command {args[0]!r}{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()))


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First time? Try `ralph demo`. Then, in your own project: `ralph init --provider claude`.",
)
@click.version_option(__version__, message="ralph %(version)s")
@click.option("-C", "folder", type=click.Path(exists=True, file_okay=False), help="Work in this folder.")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
def app(folder: str | None, debug: bool) -> None:
    """Ralph runs any AI coding agent in a loop, one fresh agent for each small task, and believes nothing it
    says: only your own checks make a task pass."""
    if folder:
        os.chdir(folder)


app.params.append(colour.option(is_group=True))
