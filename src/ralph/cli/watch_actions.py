"""What keys do in `ralph watch`: each calls the command that a person would type, if this Ralph has it."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable
from contextlib import suppress

from ralph.cli.app import COMMANDS
from ralph.frozen import Frozen
from ralph.installation import SELF
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import NeedKind, Task
from ralph.process.blocking import capture_now
from ralph.stores import lock
from ralph.workspace import Workspace

Build = Callable[[str, str, str], tuple[str, ...]]
"""Returns a command's arguments for a target, a task and what the person typed."""


class WatchAction(Frozen):
    """What a key does."""

    key: str
    about: str
    build: Build
    asks: str = ""  # what the person types first
    confirms: bool = False  # ask whether it is meant
    of_task: bool = True  # it is about the selected task; else about the run

    @property
    def exists(self) -> bool:
        return self.build("", "", "")[0] in COMMANDS


ACTIONS = (
    WatchAction(key="p", about="pause after this attempt", build=lambda t, _, __: ("pause", t), of_task=False),
    WatchAction(key="u", about="resume a paused run", build=lambda t, _, __: ("resume", t), of_task=False),
    WatchAction(key="s", about="skip the task", build=lambda t, task, _: ("skip", t, task), confirms=True),
    WatchAction(key="r", about="retry the task", build=lambda t, task, _: ("retry", t, task)),
    WatchAction(
        key="n", about="tell its next agent something", asks="Note:",
        build=lambda t, task, text: ("note", t, task, text),
    ),
    WatchAction(
        key="a", about="accept the task, or approve its work", asks="Why does it need no work?",
        build=lambda t, task, why: ("accept", t, task, "--why", why, "--yes"),
    ),
)  # fmt: skip
NOTE_IN_ANSWER = WatchAction(
    key="n", about="answer what it asks with a note", asks="Note:",
    build=lambda t, task, text: ("decide", t, task, "--note", text, "--yes"),
)  # fmt: skip
APPROVE = WatchAction(
    key="a", about="approve its work", build=lambda t, task, _: ("approve", t, task, "--yes"), confirms=True
)
STOP = WatchAction(key="x", about="stop the run", build=lambda t, _, __: ("stop", t), confirms=True, of_task=False)


def fitting(key: str, task: Task | None) -> WatchAction | None:
    """Return what a key does for this task; None if nothing."""
    if task and task.needs_person and task.need:
        if key == "a" and task.need.kind is not NeedKind.LANDING and TaskDecision.APPROVE in FITTING[task.need.kind]:
            return APPROVE
        if key == "n" and TaskDecision.NOTE in FITTING[task.need.kind]:
            return NOTE_IN_ANSWER
    if key == "x":
        return STOP
    return next((action for action in ACTIONS if action.key == key and action.exists), None)


def listed() -> tuple[str, ...]:
    """Return the keys and what they do, as the help shows them."""
    offered = [action for action in (STOP, *ACTIONS) if action.key == "x" or action.exists]
    names = {action.key for action in offered}
    notes = () if "n" in names else (NOTE_IN_ANSWER,)
    return tuple(f"{action.key:7}{action.about}" for action in (*offered, *notes))


def perform(workspace: Workspace, action: WatchAction, target: str, task: str, typed: str) -> str:
    """Do it, and return what the command said."""
    if action is STOP and not STOP.exists:
        return _interrupt(workspace, target)
    command = action.build(target, task, typed)
    code, said = capture_now([*SELF, *command], cwd=workspace.root, with_errors=True)
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    return " ".join(lines[:2]) or ("Done." if not code else f"`{shlex.join(['ralph', *command])}` failed.")


def _interrupt(workspace: Workspace, target: str) -> str:
    """Do what Ctrl-C does in the run's own terminal."""
    owner = lock.holder(workspace.lock)
    if owner is None or owner.target != target or not owner.lives():
        return f"No run of {target} is under way."
    with suppress(ProcessLookupError):
        os.kill(owner.pid, signal.SIGINT)
    return "The run stops; the work of its agents is kept."
