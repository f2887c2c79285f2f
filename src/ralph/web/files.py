"""Reads what a run left in its folder: only files that its journal names, and only from that folder."""

from __future__ import annotations

from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.journal.reader import RUN
from ralph.workspace import Workspace

MAX_TEXT = 200_000


class FileText(Frozen):
    """A file, or its beginning or end if it is long."""

    text: str
    is_cut: bool = False

    def __bool__(self) -> bool:
        return bool(self.text.strip())


def of_run(workspace: Workspace, run: str, name: str, *, end: bool = False, most: int = MAX_TEXT) -> FileText:
    """Return a file of a run, by a name that the run's journal gave; empty if there is no such file."""
    plain = Path(name).name
    if not plain or plain.startswith(".") or not RUN.fullmatch(run) or (workspace.logs / run).is_symlink():
        return FileText(text="")
    try:
        with safe_files.open_old(workspace.logs / run / plain) as file:
            size = file.seek(0, 2)
            file.seek(max(size - most, 0) if end else 0)
            data = file.read(most)
    except (OSError, ValueError):  # also a name that cannot be one
        return FileText(text="")
    return FileText(text=data.decode(errors="replace"), is_cut=size > most)
