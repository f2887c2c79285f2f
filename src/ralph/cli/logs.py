"""`ralph logs`: what happened in a run, told again from its journal."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.errors import RalphError
from ralph.journal.reader import events, runs
from ralph.stores import lock
from ralph.stores.lock import Owner
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
        owner = lock.holder(workspace.lock)
        rows = [(folder.name, *_what(folder, owner)) for folder in known]
        if as_json:
            click.echo(json.dumps([dict(zip(("run", "target", "ended"), row, strict=True)) for row in rows], indent=2))
        for name, target, end in () if as_json else rows:
            click.echo(f"{name}  {target:20}  {end}")
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


def _what(folder: Path, owner: Owner | None) -> tuple[str, str]:
    """What a run was for, and how it ended."""
    target, unended = "?", "at work" if owner and owner.run == folder.name else "cut short"
    end = unended
    for event in events(folder, "run_started", "attempt_started", "attempt_ended", "run_ended"):
        target = str(event.get("target", target))
        if event["event"] == "run_ended":
            end = f"{event.get('ending')}{f', {words.IN_PLACE}' if event.get('in_place') else ''}"
        elif target.startswith("plan-"):  # planning has no more than its calls
            end = str(event.get("verdict", unended))
    return target, end


def _line(event: dict[str, object]) -> str:
    at = str(event.get("at", ""))[11:19]
    skipped = ("event", "at", "run", "target", "base", "usage", "gates", "kept_in")
    parts = [_part(key, value) for key, value in event.items() if key not in skipped and value]
    gates = event.get("gates")
    if any(isinstance(gate, dict) and gate.get("in_place") for gate in (gates if isinstance(gates, list) else ())):
        parts.append(words.IN_PLACE)
    return f"{at} {event.get('event')!s:16} {' '.join(parts)}"


def _part(key: str, value: object) -> str:
    if isinstance(value, dict):  # a gate's result
        mark = "✓" if value.get("passed") else "✗"
        where = words.IN_PLACE if value.get("in_place") else ""
        return " · ".join(filter(None, (f"{mark} {value.get('command')}", where, str(value.get("reason") or ""))))
    if isinstance(value, float):
        return f"{key}={value:.1f}"
    return f"{key}={words.cut(words.first_line(str(value)), 80)}"
