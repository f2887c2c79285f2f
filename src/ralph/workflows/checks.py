"""A check: one thing that was checked, its state, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.errors import RalphError


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    state: str  # good, note, bad
    what: str
    remedy: str = ""


def bad_check(error: RalphError) -> Check:
    """An error as a failed check."""
    return Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
