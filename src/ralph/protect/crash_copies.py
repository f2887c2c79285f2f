"""Crash copies of a plan, made whenever it is right: after a kill the next run begins with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from ralph import safe_files
from ralph.config import NAME
from ralph.process import tree
from ralph.stores import atomic, lock, records
from ralph.workspace import PROGRESS, RALPH, SESSIONS, SPECS_PLAN, Workspace

FOLDER = "trusted"
COPIES = "[0-9a-f]*"  # named by a digest of their paths; half-written files of a killed run begin with a dot
MISSING = "missing"  # below it: what was not there, so that nobody else can have made it
TIP = "tip"  # where the branch stood


def keep(workspace: Workspace, target: str, plan: Iterable[Path], *, tip: str = "") -> list[Path]:
    """Copy the plan's files, as soon as they are right.

    The plan itself comes last, then the tip: a kill in between leaves a plan that knows less, never more, than is so.
    """
    folder = workspace.records / target / FOLDER
    written = [folder / TIP]
    for source in dict.fromkeys(reversed(tuple(plan))):
        copy, mark = folder / _name(source), folder / MISSING / _name(source)
        if not os.path.lexists(source):
            if _known(mark) != (source, b""):
                atomic.write(mark, _sealed(source, b""), sync=False)
            copy.unlink(missing_ok=True)
        elif source.is_file() and not source.is_symlink():
            data = source.read_bytes()
            if _known(copy) != (source, data):
                atomic.write(copy, _sealed(source, data))
            mark.unlink(missing_ok=True)
        written += [copy, mark]
    if tip_of(workspace, target) != tip:
        atomic.write(folder / TIP, tip.encode())
    return written


def tip_of(workspace: Workspace, target: str) -> str:
    """Where the branch stood when the copies were made; empty: there are none, the last run ended by itself."""
    try:
        return (workspace.records / target / FOLDER / TIP).read_text()
    except OSError:
        return ""


def forget(workspace: Workspace, target: str) -> None:
    """A run has come to its own end: from now on what is on disk is what a person wants."""
    safe_files.remove_all(workspace.records / target / FOLDER)


def put_back(workspace: Workspace, *, locked: bool = False) -> list[str]:
    """Bring plans of killed runs back to what they were when they were right; the names of those that had changed.

    `locked`: whoever calls holds the lock.
    """
    if not locked and lock.holder(workspace.lock):
        return []
    for record in records.load(workspace.records):
        if record.agent_at_work:
            tree.stop(tree.marked(f"{record.run}."))  # its agent may have outlived it, and would write on
    folders = sorted(workspace.records.glob(f"*/{FOLDER}"))
    return [name for folder in folders for name in _put_back(folder, workspace.root)]


def _name(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _sealed(path: Path, data: bytes) -> bytes:
    """A copy as it is written: a digest, then where the file belongs, then the file."""
    whole = quote(os.fsencode(path)).encode() + b"\n" + data
    return hashlib.sha256(whole).hexdigest().encode() + b"\n" + whole


def _known(copy: Path) -> tuple[Path, bytes] | None:
    """What a copy holds; None if it is not there, or not as it was written: a power cut can leave any half of it."""
    found = copy.read_bytes() if copy.is_file() and not copy.is_symlink() else b""
    _, _, rest = found.partition(b"\n")
    name, _, data = rest.partition(b"\n")
    path = Path(os.fsdecode(unquote_to_bytes(name)))
    return (path, data) if found == _sealed(path, data) else None


def _is_ours(current: Path, root: Path) -> bool:
    """Whether a file is one of Ralph's own; the agent of a killed run can have written copies of any other."""
    real, here = Path(os.path.realpath(current.parent)) / current.name, Path(os.path.realpath(root))
    if not real.is_relative_to(here):
        return False
    name = real.relative_to(here)
    return name.parts[0] in (RALPH, SESSIONS) or str(name) in (NAME, SPECS_PLAN, PROGRESS)


def _put_back(folder: Path, root: Path) -> list[str]:
    changed = []
    for current, known in _copies(folder, root):
        if current.is_symlink() or not current.is_file() or current.read_bytes() != known:
            _set_aside(current, folder)
            atomic.write(current, known)
            changed.append(current.name)
    for current, _ in _copies(folder / MISSING, root):
        if os.path.lexists(current):
            _set_aside(current, folder)
            current.unlink(missing_ok=True)
            changed.append(current.name)
    return changed


def _copies(folder: Path, root: Path) -> list[tuple[Path, bytes]]:
    """What can be believed: whole copies of files in the project."""
    found = (_known(copy) for copy in sorted(folder.glob(COPIES)))
    return [pair for pair in found if pair and _is_ours(pair[0], root)]


def _set_aside(current: Path, folder: Path) -> None:
    """What is there may be a person's all the same: keep it."""
    if current.is_file() and not current.is_symlink():
        atomic.write(folder.parent / "found" / f"{_name(current)[:8]}-{current.name}", current.read_bytes())
    if current.is_dir() and not current.is_symlink():
        safe_files.remove_all(current)
