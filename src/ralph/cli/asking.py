"""A question with lettered options. A letter chooses an option; a longer answer is free text."""

from __future__ import annotations

import string
import sys
from collections.abc import Sequence

import click

from ralph.text import plain
from ralph.views.lines import say


def letter_or_words(options: Sequence[str], *, default: str | None) -> str:
    """The option for a letter, or the person's free text. Asks again if a letter is not one of the options."""
    letters = string.ascii_uppercase[: len(options)]
    while True:
        answer = str(click.prompt("Answer", default=default, show_default=default == plain(default or ""))).strip()
        position = letters.find(answer.upper()) if len(answer) == 1 else -1
        if position >= 0:
            return options[position]
        if not (options and len(answer) == 1 and answer.isalpha()):
            return answer
        last = f" to {letters[-1]}" if letters[1:] else ""
        say(f"There is no option {answer.upper()}. Type A{last}, or answer in your own words.", fg="yellow")


def forget_typed() -> None:
    """Drop what was typed while an agent worked: it cannot answer a question that was not asked yet."""
    import termios  # only a terminal needs it

    termios.tcflush(sys.stdin, termios.TCIFLUSH)
