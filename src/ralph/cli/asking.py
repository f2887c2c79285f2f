"""A question with lettered options: a letter chooses one, anything longer is the person's own words."""

from __future__ import annotations

import string
from collections.abc import Sequence

import click

from ralph.views.lines import say


def letter_or_words(options: Sequence[str], *, default: str | None) -> str:
    """The option behind a letter, or what the person wrote; a letter that stands for no option is asked again."""
    letters = string.ascii_uppercase[: len(options)]
    while True:
        answer = str(click.prompt("Answer", default=default)).strip()
        position = letters.find(answer.upper()) if len(answer) == 1 else -1
        if position >= 0:
            return options[position]
        if not (options and len(answer) == 1 and answer.isalpha()):
            return answer
        last = f" to {letters[-1]}" if letters[1:] else ""
        say(f"There is no option {answer.upper()}. Type A{last}, or answer in your own words.", fg="yellow")
