"""`ralph man`: the manual page, made from the commands as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from ralph import __version__
from ralph.process.environment import in_home
from ralph.stores import atomic
from ralph.views.lines import say, say_exactly

FILES = (
    ("ralph.config.json", "The configuration of a project; `ralph schema config` describes it."),
    (".ralph/", "Plans, journals, working copies and the lock of a project."),
    ("~/.local/share/ralph/", "What belongs to you: approvals, keys, held-out files."),
    ("~/.cache/ralph/", "Clean copies in which gates run."),
)


@click.command(
    name="man",
    epilog="""\b
Examples:
  ralph man | man -l -     read it now
  ralph man --install      then `man ralph` finds it""",
)
@click.option("--install", "installs", is_flag=True, help="Write it to ~/.local/share/man, where `man ralph` finds it.")
@click.pass_context
def command(ctx: click.Context, installs: bool) -> int:
    """Print the manual page of all commands."""
    assert ctx.parent and isinstance(ctx.parent.command, click.Group), "it is a command of `ralph`"
    text = page(ctx.parent.command)
    if not installs:
        say_exactly(text)
        return 0
    import os

    path = in_home(".local/share/man/man1/ralph.1", os.environ)
    atomic.write(path, text.encode())
    say(f"✓ wrote {path}")
    say("→ man ralph")
    return 0


def page(app: click.Group) -> str:
    """Return the page in the language of `man`."""
    return "\n".join((*_head(app), *_commands(app), *_files())) + "\n"


def _head(app: click.Group) -> Iterator[str]:
    about = (app.help or "").strip()
    first, _, rest = about.partition("\n\n")
    yield f'.TH RALPH 1 "" "Ralph {__version__}" "Ralph"'
    yield ".ad l"
    yield from (".SH NAME", f"ralph \\- {_text(' '.join(first.split()).rstrip('.'))}")
    yield from (".SH SYNOPSIS", ".B ralph", "[OPTIONS] COMMAND [ARGUMENTS]")
    if rest:
        yield from (".SH DESCRIPTION", *_paragraphs(rest))
    yield ".SH OPTIONS"
    yield from _options(click.Context(app, info_name="ralph"), app)


def _commands(app: click.Group) -> Iterator[str]:
    yield ".SH COMMANDS"
    with click.Context(app, info_name="ralph") as outer:
        for name in app.list_commands(outer):
            found = app.get_command(outer, name)
            assert found, "it is listed"
            yield from _command(found, name, outer)


def _command(one: click.Command, name: str, outer: click.Context) -> Iterator[str]:
    with click.Context(one, info_name=name, parent=outer) as ctx:
        yield f".SS {_text(' '.join((ctx.command_path, *one.collect_usage_pieces(ctx))))}"
        yield from _paragraphs(one.help or "")
        yield from _options(ctx, one)
        yield from _paragraphs(one.epilog or "")
        for inner, command in one.commands.items() if isinstance(one, click.Group) else ():
            yield from _command(command, inner, ctx)


def _options(ctx: click.Context, one: click.Command) -> Iterator[str]:
    for parameter in one.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record and record[1]:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))


def _files() -> Iterator[str]:
    yield ".SH FILES"
    for path, about in FILES:
        yield from (".TP", f".I {_text(path)}", _text(about))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs; those that click leaves as they are begin with a line that is `\\b`."""
    for part in text.strip().split("\n\n"):
        lines = [line.strip() if not part.lstrip().startswith("\b") else line for line in part.split("\n")]
        if lines[0].strip() == "\b":
            yield from (".PP", ".nf", *_lines(lines[1:]), ".fi")
        elif part.strip():
            yield from (".PP", *_lines(lines))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    return (_text(line) for line in lines if line.strip())


def _text(text: str) -> str:
    """Return a line that `man` shows as it is: a dot or a quote at its beginning would be a command."""
    shown = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{shown}" if shown[:1] == "." else shown
