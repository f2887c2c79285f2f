"""`ralph logs`: tells what happened in a run, from its journal, also during the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli import moments
from ralph.errors import RalphError
from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.journal.reader import RUN, Lines, events, runs
from ralph.stores import lock
from ralph.views import words
from ralph.views.event_line import event_line
from ralph.views.lines import say, say_json_line
from ralph.workspace import Workspace

ATTEMPT = re.compile(r"(?P<task>[^\s/]+)/(?P<number>[1-9][0-9]{0,8})")

Wanted = Callable[[JournalEntry], bool]


@click.command(
    name="logs",
    epilog="""\b
Examples:
  ralph logs                     the last run, as its own terminal showed it
  ralph logs --follow            the active run, until it ends
  ralph logs --task US-003       one task of the last run
  ralph logs --since 2h          what happened in the last two hours of it
  ralph logs US-003/2            what the agent said in an attempt
  ralph logs --events            a line for each event
  ralph logs --list              every run
  ralph logs --json              the last run's events as JSON Lines""",
)
@click.argument("run", required=False, metavar="[RUN|TASK/N]")
@click.option("--follow", "-f", is_flag=True, help="Follow the run until it ends.")
@click.option("--task", help="Only what is about this task.")
@click.option("--since", metavar="TIME", help="Only what happened since then, such as 2h or 22:30.")
@click.option("--events", "as_events", is_flag=True, help="Print a line for each event.")
@click.option("--list", "list_runs", is_flag=True, help="List all runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
def command(
    run: str | None,
    follow: bool,
    task: str | None,
    since: str | None,
    as_events: bool,
    list_runs: bool,
    as_json: bool,
) -> int:
    """Tell what happened in RUN, or in the last run, as the run itself told it. TASK/N prints what the agent said in
    an attempt. The full output of agents and gates is in the same folder."""
    workspace = workspaces.find(Path.cwd())
    if list_runs:
        from ralph.cli import list_runs as every_run

        every_run.show(workspace, as_json=as_json)
        return 0
    attempt = ATTEMPT.fullmatch(run or "")
    if attempt:
        _show_words(workspace, attempt["task"], int(attempt["number"]))
        return 0
    wanted = _filter(task, moments.since(since, datetime.now().astimezone()) if since else None)
    chosen = _chosen(workspace, run, task, follow=follow)
    if follow:
        from ralph.cli import following

        (following.show_json if as_json else following.show_lines)(workspace, chosen, wanted)
        return 0
    _show(workspace, chosen, wanted, as_json=as_json, as_events=as_events)
    return 0


def _chosen(workspace: Workspace, run: str | None, task: str | None, *, follow: bool) -> Path:
    """The folder of the run that is meant: the named one, or the last; for a task, the last that worked on it."""
    owner = lock.holder(workspace.lock)
    if follow and owner and RUN.fullmatch(owner.run) and run in (None, owner.run):
        return workspace.logs / owner.run  # it may not have written its first event yet
    found = next((folder for folder in reversed(runs(workspace.logs)) if run is None or folder.name == run), None)
    if found is None:
        what = f"There is no run {run!r}." if run else "There are no runs yet."
        raise RalphError(what, remedy="See `ralph logs --list`.")
    if task and run is None and not follow:
        return next((folder for folder in reversed(runs(workspace.logs)) if _has(folder, task)), found)
    return found


def _has(folder: Path, task: str) -> bool:
    return any(getattr(entry.event, "work", None) == task for entry in events(folder, "attempt_started"))


def _filter(task: str | None, since: datetime | None) -> Wanted:
    def is_wanted(entry: JournalEntry) -> bool:
        if task is not None and getattr(entry.event, "work", None) != task:
            return False
        return since is None or _is_since(entry, since)

    return is_wanted


def _is_since(entry: JournalEntry, since: datetime) -> bool:
    try:
        return datetime.fromisoformat(entry.at).astimezone() >= since
    except ValueError:
        return False


def _show(workspace: Workspace, folder: Path, wanted: Wanted, *, as_json: bool, as_events: bool) -> None:
    lines = Lines(folder.name)
    found = filter(wanted, events(folder, lines=lines))
    if as_json:
        for entry in found:
            say_json_line(entry.line)
    elif as_events:
        for entry in found:
            say(event_line(entry), hang=26)
    else:
        from ralph.cli import following

        following.tell(workspace, found)
    if lines.is_old:
        say("An older Ralph wrote this journal, so some details are missing.", err=True)
    if lines.skipped:
        say(f"{words.count(lines.skipped, 'line')} of the journal could not be read.", err=True)
    if not as_json:
        say(f"→ {folder}")


def _show_words(workspace: Workspace, task: str, number: int) -> None:
    """Print what the agents of an attempt said: the calls of the newest run that has this attempt."""
    for folder in reversed(runs(workspace.logs)):
        calls = [
            entry.event
            for entry in events(folder, "agent_started")
            if isinstance(entry.event, e.AgentStarted) and (entry.event.work, entry.event.attempt) == (task, number)
        ]
        texts = dict.fromkeys(filter(None, (_words_of(folder, call) for call in calls)))
        if texts:
            for path in texts:
                say("\n".join(_text_lines(path)), hang=0)
                say(f"→ {path}", dim=True)
            return
        if calls:
            raise RalphError(f"What the agent said in {task}/{number} is gone.", remedy=f"See what is in {folder}.")
    raise RalphError(
        f"No run has an attempt {task}/{number}.", remedy="`ralph attempts TARGET` lists the attempts of a plan."
    )


def _words_of(folder: Path, call: e.AgentStarted) -> Path | None:
    """The transcript of a call, or else its whole output; only files of this run: an agent can plant a journal."""
    from ralph import safe_files

    paths = (folder / Path(name).name for name in (call.words, call.log) if name)
    return next((path for path in paths if safe_files.is_file(path) and path.stat().st_size), None)


def _text_lines(path: Path) -> Iterator[str]:
    from ralph import safe_files

    with safe_files.open_old(path) as file:
        for line in file:
            yield line.decode(errors="replace").rstrip("\n")
