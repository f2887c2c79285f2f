"""Crash copies of a plan, saved whenever it is valid; after a kill the next run starts with them."""

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
MISSING = "missing"  # a subfolder that lists files which did not exist, so that later ones are known to be forged
TIP = "tip"  # the branch tip


def keep(workspace: Workspace, target: str, plan: Iterable[Path], *, tip: str = "") -> list[Path]:
    """Copy the plan's files while they are valid.

    The plan itself is written last, then the tip. A kill in between leaves a plan that lags behind, never one that is
    ahead.
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
    """Return the branch tip at the time of the copies; "" if there are none because the last run ended by itself."""
    try:
        return (workspace.records / target / FOLDER / TIP).read_text()
    except OSError:
        return ""


def forget(workspace: Workspace, target: str) -> None:
    """Delete the copies after a run ended by itself; from now on, the files on disk count."""
    safe_files.remove_all(workspace.records / target / FOLDER)


def put_back(workspace: Workspace, *, locked: bool = False) -> list[str]:
    """Restore the plans of killed runs from their crash copies; return the names of the files that had changed.

    `locked`: the caller holds the lock.
    """
    if not locked and lock.holder(workspace.lock):
        return []
    for record in records.load(workspace.records):
        if record.agent_at_work:
            tree.stop(tree.marked(f"{record.run}."))  # its agent may have survived and would continue to write
    folders = sorted(workspace.records.glob(f"*/{FOLDER}"))
    return [name for folder in folders for name in _put_back(folder, workspace.root)]


def _name(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _sealed(path: Path, data: bytes) -> bytes:
    """Return the content of a copy: a digest, the file's path, then the file."""
    whole = quote(os.fsencode(path)).encode() + b"\n" + data
    return hashlib.sha256(whole).hexdigest().encode() + b"\n" + whole


def _known(copy: Path) -> tuple[Path, bytes] | None:
    """Return the path and content of a copy; None if it is missing or incomplete, as after a power cut."""
    found = copy.read_bytes() if copy.is_file() and not copy.is_symlink() else b""
    _, _, rest = found.partition(b"\n")
    name, _, data = rest.partition(b"\n")
    path = Path(os.fsdecode(unquote_to_bytes(name)))
    return (path, data) if found == _sealed(path, data) else None


def _is_ours(current: Path, root: Path) -> bool:
    """Return whether a file is Ralph's own; the agent of a killed run may have forged copies of other files."""
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
    """Return the valid copies: complete ones, of Ralph's own files."""
    found = (_known(copy) for copy in sorted(folder.glob(COPIES)))
    return [pair for pair in found if pair and _is_ours(pair[0], root)]


def _set_aside(current: Path, folder: Path) -> None:
    """Keep the current file, which may still be the person's."""
    if current.is_file() and not current.is_symlink():
        atomic.write(folder.parent / "found" / f"{_name(current)[:8]}-{current.name}", current.read_bytes())
    if current.is_dir() and not current.is_symlink():
        safe_files.remove_all(current)
