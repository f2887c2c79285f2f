"""The files of Ralph's own that agents may write, such as notes: taken from a working copy into the plan."""

from __future__ import annotations

from collections.abc import Iterable

from ralph import safe_files
from ralph.checkout.working_copy import WorkingCopy
from ralph.engine.run import Run
from ralph.stores import atomic


def take_artifacts(run: Run, copy: WorkingCopy, paths: Iterable[str]) -> None:
    """Copy the files that a call may write from its working copy to the plan."""
    for path in paths if run.plans and run.own.held else ():
        source, target = copy.project / path, run.project / path
        data, known = safe_files.read(source), safe_files.read(target)
        data = None if data is None else run.secrets.data(data)
        if data is not None and run.is_parallel:
            data = join_lines(known or b"", copy.shown.get(path, b""), data)
        if data is not None and known != data:
            atomic.write(target, data)
        elif not run.is_parallel and target.is_file() and not source.exists():
            target.unlink()
    run.expect_plan()


def join_lines(ours: bytes, before: bytes, theirs: bytes) -> bytes:
    """Return a file of notes after two wrote to it: `ours`, with the lines that `theirs` added and removed since."""
    if ours == before:
        return theirs
    known, wanted, there = (frozenset(text.splitlines()) for text in (before, theirs, ours))
    kept = [line for line in ours.splitlines() if line in wanted or line not in known]
    added = [line for line in theirs.splitlines() if line not in known and line not in there]
    return b"".join(line + b"\n" for line in (*kept, *added))
