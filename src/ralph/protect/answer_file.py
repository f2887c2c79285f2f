"""The file in which an agent answers: how it is read, and how it is taken away."""

from __future__ import annotations

from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError

MAX_BYTES = 16 << 20


def read_answer(answer: Path) -> bytes:
    """What an agent wrote there, if it is a file of a sensible size."""
    if answer.is_symlink() or not answer.is_file():
        raise RalphError(f"The file {answer} was not written.")
    if answer.stat().st_size > MAX_BYTES:
        raise RalphError(f"The file {answer} is too large.")
    data = answer.read_bytes()
    if not data.strip():
        raise RalphError(f"The file {answer} is empty.")
    return data


def clear(answer: Path) -> None:
    """Make room for an answer; whatever lies there is not one."""
    answer.parent.mkdir(parents=True, exist_ok=True)
    safe_files.remove_all(answer)


def mistakes_text(error: RalphError) -> str:
    """What is wrong with an answer, for the agent that is to write it again."""
    return "\n".join((error.what, *(f"- {detail}" for detail in error.details)))


def in_brief(error: RalphError) -> str:
    """The same in a line, for a person."""
    first = error.details[0] if error.details else error.what
    return first + (f" (and {len(error.details) - 1} more)" if len(error.details) > 1 else "")
