"""Lines for a person: wrapped between words on a terminal, elsewhere with the time of day."""

from __future__ import annotations

import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import click

from ralph.ansi import strip_ansi
from ralph.frozen import Frozen
from ralph.process.clock import seconds

NARROWEST = 30
PIECES = re.compile(r"( +)")


class Clock(Frozen):
    """A duration, and the current time."""

    seconds: Callable[[], float] = seconds
    of_day: Callable[[], str] = lambda: time.strftime("%H:%M:%S")


def say(text: str = "", *, err: bool = False, hang: int = 2, **style: Any) -> None:  # click's own keywords
    """Print lines. On a terminal, a long line wraps, indented by `hang` more."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        text = wrapped(text, columns(), hang)
    click.secho(text, err=err, **style)


def columns() -> int:
    return max(shutil.get_terminal_size().columns, NARROWEST)


def stamped(text: str, time_of_day: str) -> str:
    """Each line with the time before it; an empty line stays empty."""
    return "\n".join(f"{time_of_day} {line}" if line else "" for line in text.split("\n"))


def wrapped(text: str, width: int, hang: int = 2) -> str:
    """Every line wrapped between words. A word longer than a line, such as a path, stays whole."""
    return "\n".join(_wrapped(line, width, hang) for line in text.split("\n"))


def _wrapped(line: str, width: int, hang: int) -> str:
    if _breadth(line) <= width:
        return line
    indent = len(strip_ansi(line)) - len(strip_ansi(line).lstrip(" ")) + hang
    done, used, gap = "", 0, ""
    for piece in PIECES.split(line):
        if not piece.strip(" "):
            gap += piece
            continue
        breadth = _breadth(piece)
        if done and used > indent and used + len(gap) + breadth > width:
            done, used, gap = f"{done}\n{' ' * indent}", indent, ""
        done, used, gap = f"{done}{gap}{piece}", used + len(gap) + breadth, ""
    return done


def _breadth(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    text = strip_ansi(text)
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
