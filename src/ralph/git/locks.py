"""Removes locks that a killed git left, once no running process can hold them."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.workspace import common_git_dir

if TYPE_CHECKING:
    import psutil

HAS_PROC = sys.platform == "linux"
PATIENCE = 2.0 if HAS_PROC else 60.0
"""The minimum age of a lock in seconds: open files are not visible on every system, nor at every moment."""

NAMES = (
    "index.lock", "HEAD.lock", "ORIG_HEAD.lock", "FETCH_HEAD.lock", "MERGE_HEAD.lock", "CHERRY_PICK_HEAD.lock",
    "REVERT_HEAD.lock", "AUTO_MERGE.lock", "config.lock", "config.worktree.lock", "packed-refs.lock",
    "packed-refs.new", "shallow.lock",
)  # fmt: skip
REFS = ("refs/heads/ralph", "refs/ralph", "refs/notes/ralph")
READERS = frozenset({"log", "show", "blame", "grep", "cat-file", "fsmonitor--daemon", "credential-cache--daemon"})
"""Commands that people keep open for long and that hold no lock."""

WITH_VALUE = ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
PLACES = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
FOLDER_OPTIONS = ("--git-dir", "--work-tree")


class Git(Frozen):
    """A running git and the folders it may work in; None if they cannot be read."""

    user: int
    folders: frozenset[Path] | None


async def release(common_dir: Path, *, branches: Iterable[str] = ()) -> list[Path]:
    """Wait until abandoned locks are old enough, then remove them; return which."""
    removed: list[Path] = []
    wanted, deadline = tuple(branches), time.monotonic() + PATIENCE + 1
    while found(common_dir, wanted):
        removed += remove_stale(common_dir, branches=wanted)
        if time.monotonic() > deadline:
            break
        if found(common_dir, wanted):
            await asyncio.sleep(0.05)
    return removed


def remove_stale(
    common_dir: Path, *, branches: Iterable[str] = (), now: float | None = None, patience: float = PATIENCE
) -> list[Path]:
    """Remove the locks of a repository and its worktrees that no running process can hold; return which.

    A lock does not name its owner, and a git that waits for an editor does not even keep its lock open. So every lock
    stays while a git works in this repository, and so does a lock that any program has open.

    `branches`: the branches, besides Ralph's own, on which Ralph commits.
    """
    moment = time.time() if now is None else now
    old = {path: status for path, status in found(common_dir, branches).items() if _age(status, moment) >= patience}
    if not old:
        return []
    held = _held(common_dir, old)
    return [path for path in old if path not in held and _removed(path, old[path])]


def found(common_dir: Path, branches: Iterable[str] = ()) -> dict[Path, os.stat_result]:
    """Return the existing locks, by known names and folders.

    Anything but a regular file is not git's, but still blocks git.
    """
    located = {}
    for path in _candidates(common_dir, branches):
        with suppress(OSError):
            located[path] = path.lstat()
    return located


def _candidates(common_dir: Path, branches: Iterable[str]) -> Iterator[Path]:
    for folder in (common_dir, *(common_dir / "worktrees").glob("*")):
        yield from (folder / name for name in NAMES)
    for ref in REFS:
        yield common_dir / f"{ref}.lock"
        yield from (common_dir / ref).rglob("*.lock")
    yield from (common_dir / f"refs/heads/{branch}.lock" for branch in branches)


def _age(status: os.stat_result, now: float) -> float:
    return abs(now - status.st_mtime)  # a clock that was set back leaves files in the future


def _removed(path: Path, known: os.stat_result) -> bool:
    """Remove a lock if it is still the same file."""
    try:
        status = path.lstat()
        if (status.st_ino, status.st_mtime_ns) != (known.st_ino, known.st_mtime_ns):
            return False
        safe_files.remove_all(path)  # if it is a link, remove the link itself
    except OSError:
        return False
    return True


def _held(common_dir: Path, locks: dict[Path, os.stat_result]) -> set[Path]:
    """Return the locks that a running process may hold."""
    gits = list(_gits())
    if any(git.folders is not None and _is_in(common_dir, git.folders) for git in gits):
        return set(locks)
    hidden = {git.user for git in gits if git.folders is None}
    opened = _opened()
    return {
        path for path, status in locks.items() if status.st_uid in hidden or (status.st_dev, status.st_ino) in opened
    }


def _is_in(common_dir: Path, folders: Iterable[Path]) -> bool:
    shared = common_dir.resolve()
    return any(folder.is_relative_to(shared) or common_git_dir(folder) == shared for folder in folders)


def _gits() -> Iterator[Git]:
    """Yield every running git on this machine that may hold a lock."""
    import psutil

    for process in psutil.process_iter(["name", "status", "uids", "cmdline"]):
        name, arguments = process.info["name"] or "", process.info["cmdline"] or []
        is_git = name == "git" or name.startswith("git-")
        if is_git and process.info["status"] != psutil.STATUS_ZOMBIE and _verb(arguments) not in READERS:
            uids = process.info["uids"]
            yield Git(user=uids.effective if uids else os.getuid(), folders=_folders(process, arguments))


def _verb(arguments: list[str]) -> str:
    """Return the subcommand: `commit` for `git -C folder commit`."""
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument
    return ""


def _folders(process: psutil.Process, arguments: list[str]) -> frozenset[Path] | None:
    """Return where a git works, from its folder, variables and options."""
    import psutil

    try:
        here = Path(process.cwd())
        environment = process.environ()
    except psutil.NoSuchProcess:
        return frozenset()
    except (psutil.Error, OSError):
        return None
    named = [environment[name] for name in PLACES if name in environment]
    for option, value in pairwise([*arguments, ""]):  # a git that is ending has no arguments any more
        if option in FOLDER_OPTIONS:
            named.append(value)
        elif option.startswith(tuple(f"{one}=" for one in FOLDER_OPTIONS)):
            named.append(option.partition("=")[2])
    return frozenset((here / name).resolve() for name in ("", *named))


def _opened() -> set[tuple[int, int]]:
    """Return device and inode of every file that readable processes have open; empty if the system does not tell."""
    files = set()
    for link in Path("/proc").glob("[0-9]*/fd/*") if HAS_PROC else ():
        with suppress(OSError):
            status = link.stat()
            files.add((status.st_dev, status.st_ino))
    return files
