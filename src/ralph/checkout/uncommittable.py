"""Finds the files of a working copy that git could not add; from the index, since git's messages are no path list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ralph.git.repo import Repo

OTHER_REPOSITORY = "it is a separate git repository"
UNREADABLE = "it cannot be read"
MAX_NAMED = 10
MAX_PATH = 300


async def untaken(repo: Repo, folder: Path, index: Path, pathspecs: Iterable[str]) -> dict[str, str]:
    """Return what the index lacks or has differently after `git add` of these pathspecs, with reasons."""

    async def listed(*which: str) -> list[str]:
        args = ("ls-files", "-z", "--exclude-standard", *which, "--", *pathspecs)
        return (await repo.git(*args, index=index, work_tree=folder, literal=False)).split("\0")[:-1]

    left = await listed("--others", "--modified")
    found = {path: OTHER_REPOSITORY if path.endswith("/") else _why(folder / path) for path in left}
    for path in await listed("--others", "--directory"):
        found |= dict.fromkeys(_closed(folder, path), UNREADABLE)
    return found


def named(found: Iterable[tuple[str, str]]) -> list[str]:
    """Format the first few paths with their reasons, for the person and the next agent."""
    shown = ((path if len(path) <= MAX_PATH else f"{path[:MAX_PATH]}…", why) for path, why in found)
    texts = [f"{path} ({why})" for path, why in sorted(shown)]
    more = len(texts) - MAX_NAMED
    return texts if more <= 0 else [*texts[:MAX_NAMED], f"and {more} more"]


def _why(path: Path) -> str:
    return "git could not add it" if os.access(path, os.R_OK) else UNREADABLE


def _closed(top: Path, path: str) -> list[str]:
    """Return the unreadable folders at or below a git path; other repositories are skipped."""
    found, waiting = [], [path] if path.endswith("/") else []
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(top / folder) as entries:
                names = {one.name: one.is_dir(follow_symlinks=False) for one in entries}
        except OSError:
            found.append(folder)
            continue
        if ".git" not in names:
            waiting += [f"{folder}{name}/" for name, is_folder in names.items() if is_folder]
    return sorted(found)
