"""A clock that stands still while Ralph is suspended (Ctrl-Z)."""

from __future__ import annotations

import time

_pauses: list[float] = []


def seconds() -> float:
    return time.monotonic() - stood()


def stood() -> float:
    """Return for how many seconds the clock has stood still so far."""
    return sum(_pauses)


def stood_for(pause: float) -> None:
    _pauses.append(pause)
