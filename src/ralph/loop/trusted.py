"""Copies of the plan from before an agent was let loose: if Ralph is killed then, what is on disk proves nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from ralph.stores import atomic

FOLDER = "trusted"


def keep(records: Path, target: str, project: Path, paths: Iterable[str]) -> None:
    """Copy the plan's files; done before the record says that an agent is at work."""
    folder = records / target / FOLDER
    for path in paths:
        source = project / path
        if source.is_file() and not source.is_symlink():
            atomic.write(folder / quote(path, safe=""), source.read_bytes(), sync=False)


def put_back(records: Path, target: str, project: Path) -> list[str]:
    """Bring the plan's files back as they were; the names of those that had changed."""
    changed = []
    for copy in sorted((records / target / FOLDER).glob("*")):
        path = unquote(copy.name)
        known = copy.read_bytes()
        current = project / path
        if current.is_symlink() or not current.is_file() or current.read_bytes() != known:
            if current.is_dir() and not current.is_symlink():
                shutil.rmtree(current)
            atomic.write(current, known)
            changed.append(path)
    return changed
