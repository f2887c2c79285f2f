"""How many columns text takes on a terminal, how it is made to fit, and what stands for marks that cannot be shown."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ralph.text import strip_ansi

INVISIBLE = ("Mn", "Me", "Cf")
JOINERS = "\u200c\u200d"
MARKS = str.maketrans({
    "✓": "+", "☑": "+", "✗": "x", "✖": "x", "×": "x", "‖": "=", "↺": "~", "↻": "~", "▶": "*", "▸": ">", "●": "*",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "↵": "Enter", "│": "|", "─": "-", "└": "`", "├": "|", "┬": "-",
    "┴": "-", "┼": "+", "█": "#", "░": ".", "·": "-", "–": "-", "—": "-", "…": "...", "’": "'", "“": '"', "”": '"',
})  # fmt: skip
"""What stands for Ralph's own marks where only ASCII is shown."""


def breadth(text: str) -> int:
    """Return the number of columns that a line takes; terminals that join emojis take fewer."""
    text = strip_ansi(text)
    return len(text) if text.isascii() else sum(map(columns_of, text))


@lru_cache(maxsize=4096)
def columns_of(character: str) -> int:
    if character == "\N{VARIATION SELECTOR-16}":
        return 1  # it can make the character before it wide
    if unicodedata.category(character) in INVISIBLE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def fitted(text: str, width: int) -> str:
    """Return the beginning of a line that fits in `width` columns; `…` stands for the rest."""
    if breadth(text) <= width:
        return text
    mark = "…" if not text.isascii() or shows_unicode() else "~"
    return f"{_beginning(text, width - 1).rstrip(JOINERS)}{mark}" if width > 0 else ""


def filled(text: str, width: int) -> str:
    """Return a line of exactly `width` columns."""
    text = fitted(text, width)
    return text + " " * (width - breadth(text))


def broken(text: str, width: int) -> Iterator[str]:
    """Yield a line in pieces that fit, broken between words if a break is near."""
    width = max(width, 2)
    while breadth(text) > width:
        piece = _beginning(text, width).rstrip(JOINERS) or text[0]
        space = piece.rfind(" ")
        if space > len(piece) // 2:
            piece = piece[: space + 1]
        yield piece.rstrip()
        text = text[len(piece) :]
    yield text


def _beginning(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += columns_of(character)
        if used > width:
            return text[:place]
    return text


def shows_unicode(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the person's terminal shows more than ASCII, by their locale.

    Python itself sets `LC_CTYPE` where only `LANG=C` is given, so that says nothing.
    """
    named = environment.get("LC_ALL") or environment.get("LC_CTYPE", "")
    if not environment.get("LC_ALL") and (not named or named.startswith("C.")):
        named = environment.get("LANG") or named
    form = named.partition("@")[0].upper().replace("-", "")
    return not named or form.endswith("UTF8")


def readable(text: str) -> str:
    """Return the text in characters that the person's terminal shows."""
    return text if shows_unicode() else in_ascii(text)


def in_ascii(text: str) -> str:
    """Return the text in ASCII: other marks for Ralph's own, `?` for everything else."""
    return text if text.isascii() else text.translate(MARKS).encode("ascii", errors="replace").decode()
