"""Which agents are limited and until when, in `.ralph/run/limits.json`: a run reads what the last one met."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.stores import atomic

NAME = "limits.json"


class Limit(Frozen):
    """Why an agent cannot work, or a step cannot run, and until when."""

    agent: str = ""  # empty: the circuit breaker of a step is open
    step: str = ""
    reason: str
    until: float  # in seconds since 1970; infinite: for the rest of this run
    waits: int = 1  # how often in a row it was limited

    @property
    def ends(self) -> bool:
        return math.isfinite(self.until)


def read(path: Path) -> list[Limit]:
    """Return the limits in a file; none if it is not as Ralph writes it."""
    try:
        document = json.loads(safe_files.read(path) or b"{}")
        found = [Limit(**entry) for entry in document.get("limits", [])]
    except (ValueError, TypeError, AttributeError):
        return []
    return [limit for limit in found if _is_sound(limit)]


def write(path: Path, limits: Iterable[Limit]) -> None:
    kept = [asdict(limit) for limit in limits]
    atomic.write(path, json.dumps({"version": 1, "limits": kept}, indent=2).encode() + b"\n")


def _is_sound(limit: Limit) -> bool:
    return (
        isinstance(limit.agent, str)
        and isinstance(limit.reason, str)
        and type(limit.until) in (int, float)
        and type(limit.waits) is int
        and limit.waits >= 1
    )
