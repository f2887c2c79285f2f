"""`ralph session`: plan, ask, build and review, each by its own role; `list` and `show` print sessions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import sessions as known_sessions
from ralph.cli.probe_new import probe_new
from ralph.cli.running import EXIT_CODES, exit_code, restore_after_kill, run_request
from ralph.cli.running_options import RunFlags, running_options
from ralph.cli.trusting import load_trusted
from ralph.config import Config
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.journal.events import AttemptEnded, Event, RunEnded
from ralph.journal.reader import past_attempts
from ralph.plan.model import is_in_place
from ralph.plan.work import Ending
from ralph.stores import lock
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.workflows.feature import locate as features
from ralph.workflows.registry import WORKFLOWS
from ralph.workflows.session import ids as session_ids
from ralph.workflows.session import locate as sessions
from ralph.workflows.session.entry import check_landing, check_roles, request_for
from ralph.workflows.session.locate import LocatedSession
from ralph.workflows.session.report import SessionReport, report
from ralph.workflows.session.router import Mark, ProgressItem
from ralph.workflows.session.store import Session
from ralph.workspace import SESSIONS, Workspace

EXAMPLES = f"""\b
Examples:
  ralph session "Add a weather page"      plan, ask, build, review; one commit for each task
  ralph session                           resume the newest unfinished session
  ralph session --resume ID               resume this one
  ralph session --update "Fahrenheit too" more requirements for the newest session, or for --resume ID
  ralph session list                      all sessions
  ralph session show [ID]                 one session: its state, its tasks, what comes next
  ralph session "…" --json                its state at the end, as JSON (`ralph schema session`)

\b
Planner, questioner, executor and reviewer can each have their own agent and model (`roles` in
ralph.config.json). Their artifacts are in .ralph-sessions/ID/. Ctrl-C stops cleanly. Run `ralph session`
to resume, also after a crash.
{EXIT_CODES}"""
COLOURS = {Mark.TODO: None, Mark.BEGUN: "yellow", Mark.TO_REVIEW: "yellow", Mark.DONE: "green"}


@click.command(name="session", epilog=EXAMPLES)
@click.argument("words_", metavar="[REQUEST | list | show [ID]]", nargs=-1)
@click.option("--resume", metavar="ID", shell_complete=known_sessions, help="Resume this session.")
@click.option("--id", "wanted_id", metavar="ID", help="The new session's id; by default its time and first words.")
@click.option("--update", metavar="TEXT", help="Add requirements to the session.")
@running_options("Print the session's state as JSON when the run ends.", WORKFLOWS["session"])
def command(
    words_: tuple[str, ...], resume: str | None, wanted_id: str | None, update: str | None, flags: RunFlags
) -> int:
    """Work on REQUEST with a planner, a questioner, an executor and a reviewer, each a fresh agent. Without REQUEST,
    resume the newest unfinished session."""
    workspace = workspaces.find(Path.cwd())
    if words_[:1] in (("list",), ("show",)):
        return _list_or_show(workspace, words_, flags.as_json)
    restore_after_kill(workspace)
    config = load_trusted(workspace)
    flags.check(WORKFLOWS["session"])
    check_roles(workspace, config)
    check_landing(config)
    request = " ".join(words_).strip()
    if wanted_id is None:
        asked = _choose(workspace, request, resume, update)
    else:
        asked = _named(workspace, request, wanted_id, more=resume is not None or update is not None)
    return _run(workspace, config, asked, flags)


class SessionOptions(Frozen):
    """Which session to run, and its request."""

    id: str
    request: str = ""
    update: str = ""
    is_new: bool = False


def _choose(workspace: Workspace, request: str, resume: str | None, update: str | None) -> SessionOptions:
    """Which session to run. A request that an unfinished session already has resumes that session."""
    if request and (resume is not None or update is not None):
        raise RalphError(
            "A request starts a new session.",
            remedy="Leave it out to resume a session, or pass it as --update TEXT.",
        )
    if update is not None and not update.strip():
        raise RalphError("--update needs a text.", remedy='For example: --update "Fahrenheit too"')
    if resume is not None:
        found = sessions.find(workspace, resume)
        return SessionOptions(id=found.id, request=found.request, update=(update or "").strip())
    known = sessions.everything(workspace)
    if request:
        same = next((found for found in known if found.request == request and not sessions.is_finished(found)), None)
        if same:
            say(f"Resuming the unfinished session {same.id}, which has the same request.", err=True)
            return SessionOptions(id=same.id, request=same.request)
        return SessionOptions(
            id=session_ids.new_id(workspace, request, datetime.now(UTC)), request=request, is_new=True
        )
    unfinished = [found for found in known if not sessions.is_finished(found)]
    candidates = known if update else unfinished
    if not candidates:
        raise RalphError(
            "There is no session to update." if update else "There is no unfinished session.",
            remedy='Start one: ralph session "What you want"',
        )
    return SessionOptions(id=candidates[0].id, request=candidates[0].request, update=(update or "").strip())


def _named(workspace: Workspace, request: str, wanted_id: str, *, more: bool) -> SessionOptions:
    """A new session with an id that a person chose."""
    session_ids.check_id(wanted_id)
    if not request or more:
        raise RalphError(
            "--id is for a new session: it needs a request, and cannot be combined with --resume or --update.",
            remedy=f"To resume a session: --resume {wanted_id}",
        )
    if wanted_id in session_ids.ids(workspace):
        raise RalphError(
            f"The session {wanted_id!r} already exists.", remedy=f"Resume it with `ralph run {wanted_id}`."
        )
    if features.everything(workspace, only=wanted_id):
        raise RalphError(f"The feature {wanted_id!r} already exists.", remedy="Give the session another id.")
    return SessionOptions(id=wanted_id, request=request, is_new=True)


def _run(workspace: Workspace, config: Config, asked: SessionOptions, flags: RunFlags) -> int:
    probe_new(workspace, config, WORKFLOWS["session"], flags)
    if lock.holder(workspace.lock) is None and asked.is_new:
        sessions.begin(workspace, asked.id, asked.request)
    request = request_for(workspace, config, asked.id, request=asked.request, update=asked.update)
    if asked.update and lock.holder(workspace.lock) is None:
        sessions.keep_update(workspace, asked.id, asked.update)
    watcher = _Watcher(workspace, asked.id, print_it=flags.as_json)
    request = replace(request, listeners=(*request.listeners, watcher))
    ended = run_request(workspace, config, request, flags.options(), flags.watching, silent=flags.as_json)
    return exit_code(ended)


class _Watcher:
    """Prints the output contract when a run ends, however it ends."""

    def __init__(self, workspace: Workspace, session_id: str, *, print_it: bool) -> None:
        self._workspace, self._id, self._print_it = workspace, session_id, print_it
        self._last = ""

    def __call__(self, event: Event, _: str) -> None:
        if isinstance(event, AttemptEnded):
            self._last = action(event.work, event.attempt, event.verdict.value, is_in_place(event.gates))
        elif isinstance(event, RunEnded) and self._print_it:
            blocked = event.reason if event.ending in (Ending.BLOCKED, Ending.STOPPED) else ""
            found = sessions.read(self._workspace, self._id)
            made = report(found.session, last_action=self._last, blocked=blocked, update=found.update)
            say_json(made.model_dump(mode="json"))


def action(work: str, number: int, verdict: str, in_place: bool) -> str:
    return f"{work}, attempt {number}: {verdict}{f', {words.IN_PLACE}' if in_place else ''}"


def _last_action(workspace: Workspace, session_id: str) -> str:
    past = sorted(past_attempts(workspace.logs, session_id).values(), key=lambda attempt: attempt.at)
    last = past[-1] if past else None
    return action(last.work, last.number, last.verdict, last.in_place) if last else ""


def _report(workspace: Workspace, one: LocatedSession) -> SessionReport:
    last = _last_action(workspace, one.id)
    return report(one.session, last_action=last, blocked=sessions.why_blocked(workspace, one), update=one.update)


def _list_or_show(workspace: Workspace, words_: tuple[str, ...], as_json: bool) -> int:
    if len(words_) > (1 if words_[0] == "list" else 2):
        raise RalphError(
            f"`ralph session {words_[0]}` takes {'no argument' if words_[0] == 'list' else 'one id'}.",
            remedy='If this is a request, put it in quotes: ralph session "…"',
        )
    return _list(workspace, as_json) if words_[0] == "list" else _show(workspace, words_[1:], as_json)


def _list(workspace: Workspace, as_json: bool) -> int:
    found = sessions.everything(workspace)
    rows = [(one, _report(workspace, one)) for one in found]
    if as_json:
        say_json([made.model_dump(mode="json") for _, made in rows])
        return 0
    for one, made in rows:
        colour = {"completed": "green", "blocked": "red"}.get(made.status)
        say(f"{one.id}  {made.status.replace('_', ' ')} · {made.current_state}", fg=colour)
        say(f"  {words.cut(one.title, 100)}" if one.title else "  (no plan yet)")
        say(f"  {words.cut(words.first_line(made.summary), 160)}")
    if not rows:
        say('No sessions yet. Start one: ralph session "What you want"')
    return 0


def _show(workspace: Workspace, named: tuple[str, ...], as_json: bool) -> int:
    known = sessions.everything(workspace) if not named else []
    if not named and not known:
        raise RalphError("There is no session yet.", remedy='Start one: ralph session "What you want"')
    one = sessions.find(workspace, named[0]) if named else known[0]
    made = _report(workspace, one)
    if as_json:
        say_json(made.model_dump(mode="json"))
        return 0
    _print_session(workspace, one, made)
    return 0


def _print_session(workspace: Workspace, one: LocatedSession, made: SessionReport) -> None:
    say(f"{one.id}  {made.status.replace('_', ' ')} · {made.current_state}", bold=True)
    if one.title:
        say(f"  {words.cut(one.title, 140)}")
    say(f"  {made.summary}", fg="red" if made.status == "blocked" else None)
    passed = [attempt for attempt in past_attempts(workspace.logs, one.id).values() if attempt.verdict == "passed"]
    in_place = {attempt.work for attempt in passed if attempt.in_place}
    for item in _items(one.session):
        accepted = one.session.acceptance(item)
        how = words.cut(words.accepted(accepted), 300) if accepted else words.IN_PLACE if item.id in in_place else ""
        say(f"  [{item.mark.value}] {item.id}  {words.cut(item.title, 90)}{f'  ({how})' if how else ''}",
            fg="cyan" if accepted else COLOURS[item.mark])  # fmt: skip
    say(f"  last      {made.last_action}")
    say(f"  next      {made.next_action}")
    say(f"  artifacts {SESSIONS}/{one.id} on {session_ids.branch_of(one.id)}")
    if made.status != "completed":
        say(f"→ ralph run {one.id}")


def _items(session: Session) -> tuple[ProgressItem, ...]:
    try:
        return session.items or ()
    except RalphError:
        return ()  # the summary already has the reason
