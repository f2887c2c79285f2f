"""Reads the fields of an agent's events; a field of another type counts as missing."""

from __future__ import annotations

from collections.abc import Sequence

Json = dict[str, object]
MAX_COUNT = 1e15


def an_object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def a_list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def a_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def a_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < MAX_COUNT else None


def a_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < MAX_COUNT else None


def uncached(total: object, *cached: object) -> int | None:
    """Return the input tokens without the cached ones, for programs that include those in their total."""
    found = a_count(total)
    return None if found is None else max(found - sum(a_count(part) or 0 for part in cached), 0)
