"""Files of a work tree on disk: removed without ever following a link."""

from __future__ import annotations

import shutil
from pathlib import Path


def remove(top: Path, path: str) -> None:
    """Remove a file or folder, and the folders that are empty without it; never behind a link."""
    if is_behind_link(top, path):
        return
    target = top / path
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target, ignore_errors=True)
    else:
        try:
            target.unlink(missing_ok=True)
        except NotADirectoryError:
            return
    for folder in target.parents:
        if folder == top or top not in folder.parents:
            break
        try:
            folder.rmdir()
        except OSError:
            break


def is_behind_link(top: Path, path: str) -> bool:
    return any((top / parent).is_symlink() for parent in Path(path).parents if parent.parts)
