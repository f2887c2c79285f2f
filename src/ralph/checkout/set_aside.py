"""A slot is moved away from its path while gates run, so that nothing in the work can refer to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph import safe_files

ASIDE = ".aside"


@contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """While gates run, the slot is not at its path: what refers to it does not work, as in a clone."""
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
    safe_files.remove_all(folder)  # a gate made it, at a path that it knew
    aside.rename(folder)
