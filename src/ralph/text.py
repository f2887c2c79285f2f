"""Makes the text of other programs safe to store and to show."""

from __future__ import annotations


def readable(text: str) -> str:
    """Replace what is not valid text: file names and commit subjects can contain any bytes."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "")


def one_line(text: str) -> str:
    """Return the text on one line, without control characters."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def join_lines(ours: bytes, before: bytes, theirs: bytes) -> bytes:
    """Return a file of notes after two wrote to it: `ours`, with the lines that `theirs` added and removed since."""
    if ours == before:
        return theirs
    known, wanted, there = (frozenset(text.splitlines()) for text in (before, theirs, ours))
    kept = [line for line in ours.splitlines() if line in wanted or line not in known]
    added = [line for line in theirs.splitlines() if line not in known and line not in there]
    return b"".join(line + b"\n" for line in (*kept, *added))
