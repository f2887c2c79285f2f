"""Copies files of Ralph's own from one working copy to another."""

from __future__ import annotations

from ralph import safe_files
from ralph.checkout.working_copy import WorkingCopy
from ralph.stores import atomic


def copy_own_files(source: WorkingCopy, target: WorkingCopy, paths: tuple[str, ...]) -> None:
    """Copy the given files; remove those that the source lacks."""
    for path in paths if source.own.held else ():
        ours, theirs = source.project / path, target.project / path
        data = safe_files.read(ours)
        safe_files.remove_all(theirs)
        if data is not None:
            atomic.write(theirs, data, sync=False)
