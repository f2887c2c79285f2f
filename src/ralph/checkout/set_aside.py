"""Moves a slot away from its path while gates run, so that the work cannot depend on that path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph import safe_files

ASIDE = ".aside"


@contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """Move the slot away inside the block: absolute paths to it then fail, as they would in a clone."""
    aside = folder.with_name(f"{folder.name}{ASIDE}")
    try:
        folder.rename(aside)
    except OSError:  # an agent has removed it
        yield
        return
    try:
        yield
    finally:
        bring_back(aside)


def bring_back(aside: Path) -> None:
    folder = aside.with_name(aside.name.removesuffix(ASIDE))
    safe_files.remove_all(folder)  # a gate created it, at a path that it knew
    aside.rename(folder)
