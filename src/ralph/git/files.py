"""Files of a work tree on disk: never behind a link, never a folder that somebody else may need."""

from __future__ import annotations

from pathlib import Path


def remove(top: Path, path: str) -> None:
    """Remove a file that an agent made, and the folders that are empty without it; never behind a link."""
    target = top / path
    if is_behind_link(top, path) or is_folder(target):
        return
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


def is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
