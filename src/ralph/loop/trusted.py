"""Copies of Ralph's files from before an agent was let loose: if Ralph is killed then, the files prove nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from ralph.config import NAME
from ralph.loop import record as records
from ralph.process import tree
from ralph.stores import atomic, lock
from ralph.workspace import Workspace

FOLDER = "trusted"
COPIES = "%*"  # absolute paths, quoted; half-written files of a killed run begin with a dot
MISSING = "missing"  # below it: what was not there, so that nobody else can have made it


def keep(workspace: Workspace, target: str, plan: Iterable[Path]) -> list[Path]:
    """Copy the plan and what decides about it; done before the record says that an agent is at work."""
    written: list[Path] = []
    folder = workspace.records / target / FOLDER
    for source in {*plan, workspace.root / NAME, *(workspace.ralph / "configs").glob("*.json")}:
        name = quote(str(source), safe="")
        copy, mark = folder / name, folder / MISSING / name
        if not os.path.lexists(source):
            atomic.write(mark, b"", sync=False)
            copy.unlink(missing_ok=True)
        elif source.is_file() and not source.is_symlink():
            data = source.read_bytes()
            if _known(copy) != data:
                atomic.write(copy, _sealed(data))
            mark.unlink(missing_ok=True)
        written += [copy, mark]
    return written


def forget(workspace: Workspace, target: str) -> None:
    """A run has come to its own end: from now on what is on disk is what a person wants."""
    shutil.rmtree(workspace.records / target / FOLDER, ignore_errors=True)


def put_back(workspace: Workspace) -> list[str]:
    """Bring back what agents of killed runs may have changed; the names of those files that had changed."""
    if lock.holder(workspace.lock):
        return []
    changed: list[str] = []
    for record in records.load(workspace.records):
        if record.agent_at_work:
            tree.stop(tree.marked(f"{record.run}."))  # its agent may have outlived it, and would write on
            changed += _put_back(workspace.records / record.target / FOLDER, workspace.root)
            forget(workspace, record.target)  # what is written there from now on is a person's, or another run's
    return changed


def _sealed(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n" + data


def _known(copy: Path) -> bytes | None:
    """What a copy holds; None if it is not there, or not as it was written: a power cut can leave any half of it."""
    found = copy.read_bytes() if copy.is_file() and not copy.is_symlink() else b""
    data = found.partition(b"\n")[2]
    return data if found == _sealed(data) else None


def _is_ours(current: Path, root: Path) -> bool:
    """Whether a file is in the project; the agent of a killed run can have written copies of its own."""
    return Path(os.path.realpath(current.parent)).is_relative_to(os.path.realpath(root))


def _put_back(folder: Path, root: Path) -> list[str]:
    changed = []
    for copy in sorted(folder.glob(COPIES)):
        current, known = Path(unquote(copy.name)), _known(copy)
        if known is None or not _is_ours(current, root):
            continue  # it proves nothing, so what is there stays
        if current.is_symlink() or not current.is_file() or current.read_bytes() != known:
            _set_aside(current, folder)
            atomic.write(current, known)
            changed.append(current.name)
    for mark in sorted((folder / MISSING).glob(COPIES)):
        current = Path(unquote(mark.name))
        if os.path.lexists(current) and _is_ours(current, root):
            _set_aside(current, folder)
            current.unlink(missing_ok=True)
            changed.append(current.name)
    return changed


def _set_aside(current: Path, folder: Path) -> None:
    """What is there may be a person's all the same: keep it."""
    if current.is_file() and not current.is_symlink():
        name = quote(str(current), safe="")
        atomic.write(folder.parent / "found" / name, current.read_bytes())
    if current.is_dir() and not current.is_symlink():
        shutil.rmtree(current)
