"""What other programs wrote, made fit to be written down and shown."""

from __future__ import annotations


def readable(text: str) -> str:
    """As text that every file can hold: names of files and subjects of commits can be any bytes."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "")


def one_line(text: str) -> str:
    """In one line, and without what a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
