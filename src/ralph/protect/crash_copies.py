"""Crash copies of a plan, saved whenever it is valid; after a kill the next run starts with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ralph import safe_files
from ralph.config import NAME
from ralph.git.files import is_behind_link
from ralph.process import tree
from ralph.protect.snapshot import copy_aside, is_unchanged, restore, saved
from ralph.stores import atomic, crash_file, lock, records
from ralph.stores.crash_file import Copies, opened, sealed
from ralph.workspace import PROGRESS, RALPH, SESSIONS, SPECS_PLAN, Workspace

FOUND = "found"  # a folder beside the copies, with the files that `put_back` replaced


def keep(workspace: Workspace, target: str, plan: Iterable[Path], *, tip: str = "", done: Iterable[str] = ()) -> Path:
    """Copy the plan's files while they are valid; return the file with the copies.

    `done`: the instructions of persons that they contain.
    """
    kept = crash_file.file_of(workspace, target)
    found = crash_file.content(kept)
    files: dict[Path, bytes | None] = {}
    for source in plan:
        if not os.path.lexists(source):
            files[source] = None
        elif safe_files.is_file(source) and not _is_behind_link(source, workspace.root):
            files[source] = source.read_bytes()
        elif source in (last := opened(found) or Copies()).files:  # a link is not Ralph's: keep the last copy
            files[source] = last.files[source]
    data = sealed(Copies(tip=tip, files=files, done=tuple(done)))
    if data != found:
        atomic.write(kept, data)
    return kept


def forget(workspace: Workspace, target: str) -> None:
    """Delete the copies after a run that was not killed; from now on, the files on disk count."""
    safe_files.remove_all(crash_file.file_of(workspace, target))


def put_back(workspace: Workspace, *, locked: bool = False) -> list[str]:
    """Restore the plans of killed runs from their crash copies; return the names of the files that had changed.

    `locked`: the caller holds the lock.
    """
    if not locked and lock.holder(workspace.lock):
        return []
    for record in records.load(workspace.records):
        if record.agent_at_work:
            tree.stop(tree.marked(f"{record.run}."))  # its agent may have survived and would continue to write
    kept = sorted(workspace.records.glob(f"*/{crash_file.FILE}"))
    return [name for path in kept for name in _put_back(path, workspace.root)]


def _is_ours(current: Path, root: Path) -> bool:
    """Return whether a file is Ralph's own; the agent of a killed run may have forged copies of other files."""
    if ".." in current.parts or not current.is_relative_to(root):
        return False
    name = current.relative_to(root)
    if name.parts[:1] in ((RALPH,), (SESSIONS,)):
        return not (root / name.parts[0]).is_symlink()  # a run refuses to write into such a folder, and says so
    return str(name) in (NAME, SPECS_PLAN, PROGRESS)


def _is_behind_link(current: Path, root: Path) -> bool:
    return current.is_relative_to(root) and is_behind_link(root, str(current.relative_to(root)))


def _put_back(kept: Path, root: Path) -> list[str]:
    changed = []
    for current, known in crash_file.read(kept).files.items():
        if not _is_ours(current, root):
            continue
        before = saved(known)
        if not _is_behind_link(current, root):
            if is_unchanged(current, before):
                continue
            name = hashlib.sha256(os.fsencode(current)).hexdigest()[:8]
            copy_aside(current, kept.parent / FOUND / f"{name}-{current.name}")  # it may still be the person's
        safe_files.own_folder(root, current.parent.relative_to(root))  # links and files in its way are newer than it
        restore(current, before)
        changed.append(current.name)
    return changed
