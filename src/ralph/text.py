"""Makes the text of other programs safe to store and to show."""

from __future__ import annotations


def readable(text: str) -> str:
    """Replace what is not valid text: file names and commit subjects can contain any bytes."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "")


def one_line(text: str) -> str:
    """Return the text on one line, without control characters."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
