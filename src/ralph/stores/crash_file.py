"""The file with the crash copies of a plan: written at once, so that all copies are of the same moment.

A plan can consist of several files. If each were copied separately, a kill in between would leave an inconsistent plan:
one file could say that an attempt is settled, another that its task is still open.
"""

from __future__ import annotations

import json
import os
from dataclasses import field
from pathlib import Path

from ralph import limits, safe_files
from ralph.frozen import Frozen
from ralph.stores import seal
from ralph.workspace import Workspace

FILE = "crash-copies"


class Copies(Frozen):
    """The files of a plan at one moment."""

    tip: str = ""  # the branch tip
    files: dict[Path, bytes | None] = field(default_factory=dict)  # None: it did not exist, so a later one is removed
    done: tuple[str, ...] = ()  # the instructions of persons that these files contain, by their ids


def sealed(copies: Copies) -> bytes:
    """Serialize copies: a seal, then all of them."""
    files = {os.fsdecode(path): None if data is None else _text(data) for path, data in copies.files.items()}
    whole = json.dumps({"tip": copies.tip, "files": files, "done": copies.done}).encode()
    return seal.seal(FILE, whole).encode() + b"\n" + whole


def opened(found: bytes) -> Copies | None:
    """Parse copies; return None if they are incomplete, as after a power cut, or if somebody else wrote them."""
    found_seal, _, whole = found.partition(b"\n")
    if not seal.is_sealed(FILE, whole, found_seal):
        return None
    try:
        document = json.loads(whole)
        files = {_path(name): None if text is None else _data(text) for name, text in document["files"].items()}
        return Copies(tip=str(document["tip"]), files=files, done=tuple(map(str, document.get("done", ()))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # an older Ralph wrote them
        return None


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _data(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _path(name: str) -> Path:
    if "\0" in name:
        raise ValueError("no file can have this name")
    return Path(name)


def file_of(workspace: Workspace, target: str) -> Path:
    return workspace.records / target / FILE


def content(kept: Path) -> bytes:
    return safe_files.read(kept, limits.CRASH_COPIES) or b""


def read(kept: Path) -> Copies:
    """Read a file of copies: all of it, or nothing if it is invalid."""
    return opened(content(kept)) or Copies()


def tip_of(workspace: Workspace, target: str) -> str:
    """Return the branch tip at the time of the copies; "" if there are none because the last run was not killed."""
    return read(file_of(workspace, target)).tip


def done_of(workspace: Workspace, target: str) -> tuple[str, ...]:
    """Return the instructions that the plan of a killed run already contains."""
    return read(file_of(workspace, target)).done
