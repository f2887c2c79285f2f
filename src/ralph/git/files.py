"""Files of a work tree on disk: listed, and removed without ever following a link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
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


def beside(top: Path, path: str, known: Collection[str]) -> list[str]:
    """What git lists as one path; if it is a folder that holds something known, what else is in it, one by one."""
    if not path.endswith("/") or not any(one.startswith(path) for one in known):
        return [path]
    try:
        with os.scandir(top / path) as entries:
            names = sorted(f"{path}{one.name}{'/' * one.is_dir(follow_symlinks=False)}" for one in entries)
    except OSError:
        return [path]
    return [found for name in names for found in beside(top, name, known)]
