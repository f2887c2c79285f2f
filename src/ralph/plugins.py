"""Additions from other packages, found by the entry points of their distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.errors import RalphError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def added(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group, by name."""
    from importlib.metadata import entry_points  # slow to import, and most runs use only Ralph's own

    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint, what: str) -> object:
    """Import the object that an entry point names; `what` it is, for the error."""
    try:
        return point.load()
    except Exception as error:  # importing another package can raise anything
        raise RalphError(
            f"The {what} {point.name!r} could not be loaded from {point.value}: {error}.",
            remedy="Fix or uninstall the package that provides it.",
        ) from None
