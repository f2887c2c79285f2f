"""The file in which an agent answers: reading and clearing it."""

from __future__ import annotations

from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError

MAX_BYTES = 16 << 20


def read_answer(answer: Path) -> bytes:
    """Return the agent's answer if it is a regular file of reasonable size; otherwise raise an error."""
    if answer.is_symlink() or not answer.is_file():
        raise RalphError(f"The file {answer} was not written.")
    if answer.stat().st_size > MAX_BYTES:
        raise RalphError(f"The file {answer} is too large.")
    data = answer.read_bytes()
    if not data.strip():
        raise RalphError(f"The file {answer} is empty.")
    return data


def clear(answer: Path) -> None:
    """Remove whatever is at this path, so that only a new answer can be there."""
    answer.parent.mkdir(parents=True, exist_ok=True)
    safe_files.remove_all(answer)


def mistakes_text(error: RalphError) -> str:
    """Return the mistakes in an answer, for the agent that must write it again."""
    return "\n".join((error.what, *(f"- {detail}" for detail in error.details)))


def in_brief(error: RalphError) -> str:
    """Return the mistakes on one line, for the person."""
    first = error.details[0] if error.details else error.what
    return first + (f" (and {len(error.details) - 1} more)" if len(error.details) > 1 else "")
