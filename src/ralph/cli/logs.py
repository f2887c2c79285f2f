"""`ralph logs`: what happened in a run, told again from its journal."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.journal.reader import events, runs
from ralph.views import words


@click.command(
    name="logs",
    epilog="""\b
Examples:
  ralph logs            the last run, a line for each event
  ralph logs --list     every run
  ralph logs --json     the last run's events as JSON Lines""",
)
@click.argument("run", required=False)
@click.option("--list", "list_runs", is_flag=True, help="List all runs.")
@click.option("--json", "as_json", is_flag=True, help="As JSON Lines.")
def command(run: str | None, list_runs: bool, as_json: bool) -> int:
    """Tell what happened in RUN, or in the last run. The full output of agents and gates lies beside it."""
    workspace = workspaces.find(Path.cwd())
    known = runs(workspace.logs)
    if list_runs:
        for folder in known:
            click.echo(f"{folder.name}  {_what(folder)}")
        return 0
    chosen = next((folder for folder in reversed(known) if run is None or folder.name == run), None)
    if chosen is None:
        what = "There is no such run." if run else "There were no runs yet."
        raise RalphError(what, remedy="See `ralph logs --list`.")
    if as_json:
        click.echo((chosen / "journal.jsonl").read_text(encoding="utf-8", errors="replace"), nl=False)
        return 0
    for event in events(chosen):
        click.echo(_line(event))
    click.echo(f"→ {chosen}")
    return 0


def _what(folder: Path) -> str:
    first = next(events(folder, "run_started", "attempt_started"), {})
    last = next(events(folder, "run_ended"), {})
    return f"{first.get('target', '?')}  {last.get('ending', 'cut short')}"


def _line(event: dict[str, object]) -> str:
    at = str(event.get("at", ""))[11:19]
    skipped = ("event", "at", "run", "target", "base", "usage", "gates", "kept_in")
    parts = [f"{key}={words.cut(str(value), 80)}" for key, value in event.items() if key not in skipped and value]
    return f"{at} {event.get('event')!s:16} {' '.join(parts)}"
