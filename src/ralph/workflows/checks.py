"""A check: one thing that was looked at, how it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.errors import RalphError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    state: str  # good, note, bad
    what: str
    remedy: str = ""


def bad_check(error: RalphError) -> Check:
    """An error as a check that failed."""
    return Check("bad", "\n    ".join((error.what, *error.details)), error.remedy)
