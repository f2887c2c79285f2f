"""`ralph watch`: a full screen on a plan's run, of this process or another, under way or finished."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli import watch_actions
from ralph.cli.complete import targets
from ralph.cli.watch_actions import WatchAction
from ralph.errors import RalphError
from ralph.git import read as git
from ralph.git.read import one_moment
from ralph.journal import events as e
from ralph.journal.follow import JournalFollower
from ralph.journal.reader import COMMIT, FILE, RUN, events, runs
from ralph.process.blocking import hand_over
from ralph.report.history import PLANNING
from ralph.stores import lock
from ralph.views.watching import frame
from ralph.views.watching.attempt_pane import TABS
from ralph.views.watching.frame import WatchState
from ralph.views.watching.screen import FullScreen
from ralph.views.watching.story import WatchedAttempt
from ralph.workflows.inbox import of_target
from ralph.workflows.registry import find, only_target
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace

QUIET, BUSY = 1.0, 0.25
"""Seconds between two drawings if no key is pressed: of a finished run, and of one that is under way."""
MOST_RUNS = 20
"""How many earlier runs are read."""
PAST = tuple(
    event.name()
    for event in (
        e.RunStarted, e.RunEnded, e.AttemptStarted, e.StepStarted, e.AgentStarted, e.AgentEnded, e.GateEnded,
        e.AttemptEnded, e.TaskBlocked, e.Steered,
    )
)  # fmt: skip
MOVES = {"j": 1, "down": 1, "k": -1, "up": -1, "page down": 10, "page up": -10, "home": -(10**6), "end": 10**6}
KEYS = (
    "j k    the next and the last task; in an open attempt, scroll", "↵      open the attempt, and back",
    "tab    what it says, its gates, its difference, its prompt", "← →    an earlier and a later attempt at the task",
    "/      find a task", "d      the difference", "l      the whole log, in $PAGER",
)  # fmt: skip
REST = ("q      leave; the run goes on", "", "Any key closes this.")


@click.command(
    name="watch",
    epilog="""\b
Examples:
  ralph watch          the run that is under way, or the last one
  ralph watch auth     a plan, also if nothing runs
  ralph run --watch    start a run in the background, and watch it""",
)
@click.argument("target", required=False, shell_complete=targets)
def command(target: str | None) -> int:
    """Watch the run of TARGET in a full screen: its tasks, and what each attempt says, changes and passes.

    The run may be one of another terminal, in the background, or finished. `q` leaves, and the run goes on.
    """
    workspace = workspaces.find(Path.cwd())
    return watch(workspace, target or _last_target(workspace))


def check_terminal() -> None:
    """Refuse where nothing can be drawn or no key can be read."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        raise RalphError(
            "`ralph watch` needs a terminal that can move its cursor.",
            remedy="Elsewhere, `ralph logs --follow` prints what happens.",
        )


def watch(workspace: Workspace, target: str) -> int:
    """Show the plan until the person leaves."""
    check_terminal()
    with one_moment():
        found = find(workspace, target)
    with ExitStack() as stack:
        watching = _Watching(workspace, found, stack)
        try:
            watching.show(stack.enter_context(FullScreen()))
        except (KeyboardInterrupt, EOFError):
            pass
    return 0


def _last_target(workspace: Workspace) -> str:
    owner = lock.holder(workspace.lock)
    if owner and owner.target and RUN.fullmatch(owner.run) and (workspace.logs / owner.run / FILE).exists():
        return owner.target.removeprefix(PLANNING)
    for folder in reversed(runs(workspace.logs)):
        found = next(events(folder, "run_started"), None)
        if found and found.target:
            return found.target
    with one_moment():
        return only_target(workspace).name


class _Watching:
    """Reads what happens, and does what keys say."""

    def __init__(self, workspace: Workspace, target: Target, stack: ExitStack) -> None:
        self._workspace, self._target = workspace, target
        self._names = target.name, f"{PLANNING}{target.name}"  # what a run of it may be for
        self._journals = stack.enter_context(ExitStack())
        self._run: JournalFollower | None = None
        self._folder: Path | None = None
        self._seen = -1  # the changes of the plan that it was read after
        self._asking: WatchAction | None = None
        self._diff: tuple[tuple[str, str], str] = (("", ""), "")
        self.state = WatchState(target=target.name, diff=self._diff_of)

    def show(self, screen: FullScreen) -> None:
        self._read_past()
        while True:
            self._read()
            columns, height = screen.size()
            now = time.time()
            self.state.update(now)
            screen.show(frame.rows(self.state, columns, height, now))
            drawn = time.monotonic()
            while True:
                pause = BUSY if self.state.is_running else QUIET
                keys = screen.wait(drawn + pause - time.monotonic())
                for key in keys:
                    if self._press(key, screen):
                        return
                if keys or time.monotonic() >= drawn + pause or screen.size() != (columns, height):
                    break

    def _read_past(self) -> None:
        """Take the earlier runs; those of other plans only tell how long things take here."""
        story = self.state.story
        mine: list[Path] = []
        for folder in runs(self._workspace.logs)[-MOST_RUNS:]:
            for entry in events(folder, *PAST):
                if entry.target in self._names:
                    mine += [folder] if folder not in mine else []
                    story.take(entry, folder)
                else:
                    story.line.pace.take(entry.event, entry.moment)
            story.close()
        self._attach(mine[-1] if mine else None)

    def _attach(self, last: Path | None = None) -> None:
        """Follow the run that is under way, if it is another one than before; or once the last one."""
        owner = lock.holder(self._workspace.lock)
        folder = self._workspace.logs / owner.run if owner and owner.target in self._names else last
        if folder is None or folder == self._folder:
            return
        self._journals.close()
        self._folder = folder
        self._run = self._journals.enter_context(JournalFollower(folder, alive=lambda: self._is_alive(folder)))
        self.state.is_running = True

    def _is_alive(self, folder: Path) -> bool:
        owner = lock.holder(self._workspace.lock)
        return owner is not None and owner.run == folder.name

    def _read(self) -> None:
        state = self.state
        if not state.is_running:
            self._attach()
        if self._run and self._folder and state.is_running:
            for entry in self._run.news():
                state.story.take(entry, self._folder)
            if self._run.is_over():
                state.is_running = False
                state.story.close()
                state.story.changes += 1
        if self._seen != state.story.changes:
            self._seen = state.story.changes
            self._read_plan()

    def _read_plan(self) -> None:
        try:
            with one_moment():
                self._target = find(self._workspace, self._target.name)
                self.state.plan = self._target.plan()
        except RalphError as error:
            self.state.message = error.what
        plan = self.state.plan
        if plan:
            self.state.title = plan.description
            self.state.items = of_target(self._workspace, self._target, plan)

    def _diff_of(self, attempt: WatchedAttempt) -> str:
        key = attempt.base, attempt.commit
        if not all(map(COMMIT.fullmatch, key)):
            return ""
        if self._diff[0] != key:
            own = git.outside((RALPH, *self._workspace.own_files))
            self._diff = key, git.show(self._target.repo, "diff", *key, "--", *own)
        return self._diff[1]

    def _press(self, key: str, screen: FullScreen) -> bool:
        """Do what a key says; return whether the person leaves."""
        state = self.state
        if state.keys:
            state.keys = ()
        elif state.typed is not None:
            self._type(key)
        elif key == "q":
            return True
        else:
            state.message = ""
            self._command(key, screen)
        return False

    def _command(self, key: str, screen: FullScreen) -> None:
        state = self.state
        match key:
            case _ if key in MOVES:
                self._move(MOVES[key])
            case "enter":
                state.is_open, state.scroll = not state.is_open, 0
            case "esc":
                state.is_open, state.query = False, ""
            case "tab" | "back tab":
                by = 1 if key == "tab" else -1
                state.tab, state.scroll = TABS[(TABS.index(state.tab) + by) % len(TABS)], 0
            case "left" | "right":
                state.turn(1 if key == "right" else -1)
            case "/":
                state.asked, state.typed, self._asking = "Find:", state.query, None
            case "?":
                state.keys = (*KEYS, *watch_actions.listed(), *REST)
            case "d":
                state.tab, state.is_open, state.scroll = "diff", True, 0
            case "l":
                self._open_log(screen)
            case "redraw":
                screen.redraw()
            case _:
                self._ask(key)

    def _move(self, by: int) -> None:
        if self.state.is_open:
            self.state.scroll += -by if self.state.tab == "words" else by
        else:
            self.state.move(by)

    def _ask(self, key: str) -> None:
        """Ask what an action needs, or do it at once."""
        state = self.state
        task = state.plan.find(state.selected) if state.plan else None
        action = watch_actions.fitting(key, task, is_paused=state.story.is_paused)
        if action is None:
            return
        self._asking = action
        if action.asks or action.confirms:
            what = f" {state.selected}" if action.of_task else ""
            state.asked = f"{action.asks}" if action.asks else f"{action.about}:{what or f' {state.target}'}? (y/n)"
            state.typed = ""
        else:
            self._do("")

    def _type(self, key: str) -> None:
        state = self.state
        action, typed = self._asking, state.typed or ""
        if key == "esc" or (action and action.confirms and not action.asks and key.lower() != "y"):
            state.typed = None
        elif action and action.confirms and not action.asks:
            self._do("")
        elif key == "enter":
            state.typed = None
            if action is None:
                state.query = typed
            elif typed.strip():
                self._do(typed.strip())
        elif key in ("backspace", "clear"):
            state.typed = typed[:-1] if key == "backspace" else ""
        elif len(key) == 1:
            state.typed = typed + key
        if action is None and state.typed is not None:
            state.query = state.typed  # the list follows what is typed

    def _do(self, typed: str) -> None:
        state = self.state
        state.typed = None
        assert self._asking, "it was chosen"
        state.message = watch_actions.perform(self._workspace, self._asking, state.target, state.selected, typed)
        state.story.changes += 1

    def _open_log(self, screen: FullScreen) -> None:
        attempt = self.state.attempt
        path = attempt.file(".log") if attempt else None
        if path is None or not path.is_file():
            self.state.message = "There is no log yet."
            return
        with screen.lent():
            hand_over([*shlex.split(os.environ.get("PAGER") or "less"), str(path)])
