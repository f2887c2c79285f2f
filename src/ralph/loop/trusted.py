"""Copies of Ralph's files from before an agent was let loose: if Ralph is killed then, the files prove nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from ralph.config import NAME
from ralph.loop import record as records
from ralph.stores import atomic, lock
from ralph.workspace import Workspace

FOLDER = "trusted"


def keep(workspace: Workspace, target: str, plan: Iterable[Path]) -> list[Path]:
    """Copy the plan and what decides about it; done before the record says that an agent is at work."""
    written = []
    folder = workspace.records / target / FOLDER
    for source in {*plan, workspace.root / NAME, *(workspace.ralph / "configs").glob("*.json")}:
        copy = folder / quote(str(source), safe="")
        if source.is_file() and not source.is_symlink():
            data = source.read_bytes()
            if not copy.is_file() or copy.read_bytes() != data:
                atomic.write(copy, data, sync=False)
                written.append(copy)
    return written


def forget(workspace: Workspace, target: str) -> None:
    """A run has come to its own end: from now on what is on disk is what a person wants."""
    shutil.rmtree(workspace.records / target / FOLDER, ignore_errors=True)


def put_back(workspace: Workspace) -> list[str]:
    """Bring back what agents of killed runs may have changed; the names of those files that had changed."""
    if lock.holder(workspace.lock):
        return []
    dead = [record for record in records.load(workspace.records) if record.agent_at_work]
    return [path for record in dead for path in _put_back(workspace.records / record.target / FOLDER)]


def _put_back(folder: Path) -> list[str]:
    changed = []
    for copy in sorted(folder.glob("*")):
        current, known = Path(unquote(copy.name)), copy.read_bytes()
        if current.is_symlink() or not current.is_file() or current.read_bytes() != known:
            if current.is_file() and not current.is_symlink():  # it may be a person's all the same: keep it
                atomic.write(folder.parent / "found" / copy.name, current.read_bytes(), sync=False)
            if current.is_dir() and not current.is_symlink():
                shutil.rmtree(current)
            atomic.write(current, known)
            changed.append(current.name)
    return changed
