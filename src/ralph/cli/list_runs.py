"""`ralph logs --list`: every run, how it ended, how long it took, and what its agents used."""

from __future__ import annotations

from pathlib import Path

from ralph.frozen import Frozen
from ralph.journal import events as e
from ralph.journal.decode import moment
from ralph.journal.reader import events, runs
from ralph.plan.usage import Usage
from ralph.report.history import PLANNING
from ralph.stores import lock
from ralph.stores.lock import Owner
from ralph.text import one_line
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.views.spent import usage_entry, used
from ralph.workspace import Workspace

KINDS = ("run_started", "attempt_started", "attempt_ended", "run_ended")


class RunRow(Frozen):
    """One run, as the list shows it."""

    run: str
    target: str
    ended: str
    seconds: float
    usage: Usage


def show(workspace: Workspace, *, as_json: bool) -> None:
    """Print every run, oldest first."""
    owner = lock.holder(workspace.lock)
    rows = [_row(folder, owner) for folder in runs(workspace.logs)]
    if as_json:
        say_json([_entry(row) for row in rows])
        return
    for row in rows:
        took = f"  {words.duration(row.seconds)} · {used(row.usage)}"
        say(f"{row.run}  {row.target:20}  {row.ended:12}{took}", hang=26)


def _row(folder: Path, owner: Owner | None) -> RunRow:
    target, unended = "?", "running" if owner and owner.run == folder.name else "killed"
    ended, usage, begin, last = unended, Usage(), 0.0, 0.0
    for entry in events(folder, *KINDS):
        target = one_line(entry.target) or target
        last = max(last, moment(entry.at))
        begin = begin or last
        match entry.event:
            case e.RunEnded() as event:
                ended = f"{event.ending.value}{f', {words.IN_PLACE}' if event.in_place else ''}"
            case e.AttemptEnded() as event:
                usage += event.usage
                ended = event.verdict.value if target.startswith(PLANNING) else ended  # planning has only its calls
            case e.AttemptStarted() if target.startswith(PLANNING):
                ended = unended
    return RunRow(run=folder.name, target=target, ended=ended, seconds=last - begin, usage=usage)


def _entry(row: RunRow) -> dict[str, object]:
    return {
        "run": row.run,
        "target": row.target,
        "ended": row.ended,
        "seconds": round(row.seconds, 3),
        "used": usage_entry(row.usage),
    }
