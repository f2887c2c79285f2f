"""Lists and removes files of a work tree, without ever following a link."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ralph import safe_files


def remove(top: Path, path: str) -> None:
    """Remove a file or folder and parent folders that become empty; never outside `top` or behind a link."""
    parts = Path(path).parts
    if not parts or Path(path).is_absolute() or ".." in parts or is_behind_link(top, path):
        return
    target = top / path
    for folder in (top, *(top.joinpath(*parts[:depth]) for depth in range(1, len(parts)))):
        safe_files.make_accessible(folder)
    safe_files.remove_all(target)
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
    """Return a path that git lists; if it is a folder with a known path in it, return its entries one by one."""
    if not path.endswith("/") or not any(one.startswith(path) for one in known):
        return [path]
    try:
        with os.scandir(top / path) as entries:
            names = sorted(f"{path}{one.name}{'/' * one.is_dir(follow_symlinks=False)}" for one in entries)
    except OSError:
        return [path]
    return [found for name in names for found in beside(top, name, known)]
