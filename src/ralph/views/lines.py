"""Lines for a person: wrapped between words on a terminal, elsewhere with the time of day."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

import click

from ralph.frozen import Frozen
from ralph.process.clock import seconds
from ralph.text import escaped, plain, strip_ansi
from ralph.views import area, cells

MAX_LINE = 4_000
"""Characters of a line that are shown."""
PIECES = re.compile(r"( +)")


class Clock(Frozen):
    """A duration, and the current time."""

    seconds: Callable[[], float] = seconds
    of_day: Callable[[], str] = lambda: time.strftime("%H:%M:%S")
    is_past: bool = False  # it tells of a time that is over: nothing is in progress, and every line has its time


class Styled(Frozen):
    """A part of a line with its own style."""

    text: str
    style: Mapping[str, Any]


def styled(text: str, **style: Any) -> Styled:  # click's own keywords
    return Styled(text=text, style=style)


def say(*parts: str | Styled, err: bool = False, hang: int = 2, ends: bool = True, **style: Any) -> None:
    """Print lines as plain text. On a terminal, a long line wraps, indented by `hang` more.

    Everything that a person reads is printed here, so that no title, output or file name acts on the terminal.
    """
    stream = sys.stderr if err else sys.stdout
    area.clear()
    click.echo(composed(*parts, stream=stream, hang=hang, **style), err=err, nl=ends)


def composed(*parts: str | Styled, stream: IO[str], hang: int = 2, **style: Any) -> str:
    """Return lines as `say` prints them on a stream."""
    text = "".join(map(_shown, parts))
    if stream.isatty():
        text = wrapped(cells.readable(text), columns(), hang)
    return click.style(text, **style) if style else text


def is_coloured() -> bool:
    """Return whether standard output has colours."""
    context = click.get_current_context(silent=True)
    chosen = context.color if context else None
    return sys.stdout.isatty() if chosen is None else chosen


def say_json(value: object, indent: int | None = 2) -> None:
    """Print data as JSON: every text stays what it is, in characters that no terminal acts on."""
    click.echo(json.dumps(value, indent=indent))


def say_json_line(line: str) -> None:
    """Print a line of a journal at once: another program may wait for it."""
    click.echo(escaped(line))
    sys.stdout.flush()


def say_exactly(text: str) -> None:
    """Print a program's input as it is: a script, a schema, a patch that is not for the terminal."""
    click.echo(text, nl=False)


def _shown(part: str | Styled) -> str:
    text = plain(part.text if isinstance(part, Styled) else part)
    if len(text) > MAX_LINE:
        text = "\n".join(line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…" for line in text.split("\n"))
    return click.style(text, **part.style) if isinstance(part, Styled) else text


def indented(text: str, by: int = 2) -> str:
    """Return every line of a text indented, so that none passes for a line of Ralph's own."""
    return "\n".join(f"{' ' * by}{line}" if line.strip() else "" for line in plain(text).split("\n"))


def columns() -> int:
    return area.size()[0]


def stamped(text: str, time_of_day: str) -> str:
    """Each line with the time before it; an empty line stays empty."""
    return "\n".join(f"{time_of_day} {line}" if line else "" for line in text.split("\n"))


def wrapped(text: str, width: int, hang: int = 2) -> str:
    """Every line wrapped between words. A word longer than a line, such as a path, stays whole."""
    return "\n".join(_wrapped(line, width, hang) for line in text.split("\n"))


def _wrapped(line: str, width: int, hang: int) -> str:
    if cells.breadth(line) <= width:
        return line
    indent = len(strip_ansi(line)) - len(strip_ansi(line).lstrip(" ")) + hang
    done, used, gap = "", 0, ""
    for piece in PIECES.split(line):
        if not piece.strip(" "):
            gap += piece
            continue
        breadth = cells.breadth(piece)
        if done and used > indent and used + len(gap) + breadth > width:
            done, used, gap = f"{done}\n{' ' * indent}", indent, ""
        done, used, gap = f"{done}{gap}{piece}", used + len(gap) + breadth, ""
    return done
