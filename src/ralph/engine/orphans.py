"""Ends the processes that killed runs and killed verifications left running, and removes their temporary files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph.process import tree
from ralph.process.sweep import started_by
from ralph.stores import atomic, last_run, lock, records
from ralph.stores.lock import Owner
from ralph.workspace import Workspace

VERIFYING = "verifying"
NOT_OURS = ("worktrees", "logs", "receipts")
"""Folders below `.ralph` in which nothing is written atomically, or only other writers look after it."""


def remove_temporary(workspace: Workspace) -> None:
    """Remove the temporary files of killed writers; the caller must hold the lock."""
    for name in workspace.own_files:
        atomic.remove_temporary(workspace.root / name)
    inside = [path for path in subfolders(workspace.ralph) if path.name not in NOT_OURS]
    last_runs = last_run.folder(workspace)
    atomic.remove_temporary_in(workspace.ralph, *inside, *subfolders(workspace.records), last_runs)


def subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


async def end_orphans(left_by: Owner | None, folder: Path) -> int:
    """End the processes that killed runs' agents, gates and services left; return how many there were."""
    dead = {record.run for record in records.load(folder)} | ({left_by.run} if left_by else set())
    return await _end(dead) + await end_verifying(folder)


@contextmanager
def verifying(folder: Path, run_id: str) -> Iterator[None]:
    """Register a manual verification; if it is killed, the next command can end its processes."""
    with lock.hold(folder / VERIFYING / run_id, lock.me(run_id, "")):
        yield


def verifiers(folder: Path) -> set[int]:
    """Return the process ids of the manual verifications that are running."""
    return {owner.pid for path in (folder / VERIFYING).glob("*") if (owner := lock.holder(path))}


async def end_verifying(folder: Path) -> int:
    """End the processes that killed manual verifications left; return how many there were."""
    dead = [path for path in (folder / VERIFYING).glob("*") if lock.holder(path) is None]
    count = await _end({path.name for path in dead})
    for path in dead:
        path.unlink(missing_ok=True)
    return count


async def _end(runs: set[str]) -> int:
    orphans = {pid for run in runs for pid in started_by(run)}
    await tree.end(orphans, grace=2.0, wake=True)
    return len(orphans)
