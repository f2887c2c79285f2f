"""`ralph logs`: shows what happened in a run, from its journal, also during the run."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.journal import encode
from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.journal.reader import RUN, Lines, events, runs
from ralph.plan.model import GateResult, PageResult, is_in_place
from ralph.stores import lock
from ralph.stores.lock import Owner
from ralph.text import one_line
from ralph.views import words
from ralph.views.lines import say, say_json, say_json_line
from ralph.workspace import Workspace

SKIPPED = ("base", "usage", "gates", "kept_in", "run", "target", "words")


@click.command(
    name="logs",
    epilog="""\b
Examples:
  ralph logs            the last run, a line for each event
  ralph logs --follow   the active run, as its own terminal shows it
  ralph logs --list     every run
  ralph logs --json     the last run's events as JSON Lines""",
)
@click.argument("run", required=False)
@click.option("--follow", "-f", is_flag=True, help="Follow the run until it ends.")
@click.option("--list", "list_runs", is_flag=True, help="List all runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
def command(run: str | None, follow: bool, list_runs: bool, as_json: bool) -> int:
    """Show what happened in RUN, or in the last run. The full output of agents and gates is in the same folder."""
    workspace = workspaces.find(Path.cwd())
    if list_runs:
        _list(workspace, as_json=as_json)
        return 0
    owner = lock.holder(workspace.lock)
    known = runs(workspace.logs)
    if follow and owner and RUN.fullmatch(owner.run) and run in (None, owner.run):
        chosen: Path | None = workspace.logs / owner.run  # it may not have written its first event yet
    else:
        chosen = next((folder for folder in reversed(known) if run is None or folder.name == run), None)
    if chosen is None:
        what = f"There is no run {run!r}." if run else "There are no runs yet."
        raise RalphError(what, remedy="See `ralph logs --list`.")
    if not follow:
        _show(chosen, as_json=as_json)
        return 0
    from ralph.cli import following

    (following.show_json if as_json else following.show_lines)(workspace, chosen)
    return 0


def _show(folder: Path, *, as_json: bool) -> None:
    lines = Lines(folder.name)
    for entry in events(folder, lines=lines):
        if as_json:
            say_json_line(entry.line)
        else:
            say(_line(entry), hang=26)
    if lines.is_old:
        say("An older Ralph wrote this journal, so some details are missing.", err=True)
    if lines.skipped:
        say(f"{words.count(lines.skipped, 'line')} of the journal could not be read.", err=True)
    if not as_json:
        say(f"→ {folder}")


def _list(workspace: Workspace, *, as_json: bool) -> None:
    owner = lock.holder(workspace.lock)
    rows = [(folder.name, *_what(folder, owner)) for folder in runs(workspace.logs)]
    if as_json:
        say_json([dict(zip(("run", "target", "ended"), row, strict=True)) for row in rows])
    for name, target, end in () if as_json else rows:
        say(f"{name}  {target:20}  {end}")


def _what(folder: Path, owner: Owner | None) -> tuple[str, str]:
    """The target of a run, and how it ended."""
    target, unended = "?", "running" if owner and owner.run == folder.name else "killed"
    end = unended
    for entry in events(folder, "run_started", "attempt_started", "attempt_ended", "run_ended"):
        target = one_line(entry.target) or target
        match entry.event:
            case e.RunEnded() as event:
                end = f"{event.ending.value}{f', {words.IN_PLACE}' if event.in_place else ''}"
            case e.AttemptEnded() as event if target.startswith("plan-"):  # planning has only its calls
                end = event.verdict.value
            case e.AttemptStarted() if target.startswith("plan-"):
                end = unended
    return target, end


def _line(entry: JournalEntry) -> str:
    event = entry.event
    values = {**event.values} if isinstance(event, e.Unknown) else {**vars(event), **entry.more}
    parts = [_part(key, value) for key, value in values.items() if key not in SKIPPED and value]
    if isinstance(event, e.AttemptEnded) and is_in_place(event.gates):
        parts.append(words.IN_PLACE)
    return f"{one_line(entry.at)[11:19]} {one_line(entry.name):16} {' '.join(parts)}"


def _part(key: str, value: object) -> str:
    match value:
        case GateResult():
            mark, where = "✓" if value.passed else "✗", words.IN_PLACE if value.in_place else ""
            return one_line(" · ".join(filter(None, (f"{mark} {value.command}", where, value.reason))))
        case PageResult():
            found = words.count(len(value.findings), "finding") if value.findings else ""
            return one_line(" · ".join(filter(None, (f"{'✓' if value.passed else '✗'} {value.page}", found))))
        case float():
            return f"{key}={value:.1f}"
        case _:
            return one_line(f"{key}={words.cut(words.first_line(_text(encode.jsonable(value))), 80)}")


def _text(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_text(part)}" for name, part in value.items() if part) or "unknown"
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
