"""A check: one thing that was looked at, how it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    state: str  # good, note, bad
    what: str
    remedy: str = ""
