"""What keys do in `ralph watch`: each calls the command that a person would type."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from ralph.frozen import Frozen
from ralph.installation import SELF
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Task
from ralph.process.blocking import capture_now
from ralph.workspace import Workspace

Build = Callable[[str, str, str], tuple[str, ...]]
"""Returns a command for a target, a task and what the person typed."""


class WatchAction(Frozen):
    """What a key does."""

    key: str
    about: str
    build: Build
    asks: str = ""  # what the person types first
    confirms: bool = False  # ask whether it is meant
    of_task: bool = True  # it is about the selected task; else about the run
    answers: TaskDecision | None = None  # only for a task whose need this answers


ACTIONS = (
    WatchAction(
        key="p", about="pause after the running attempts, and go on", build=lambda t, _, __: ("pause", t), of_task=False
    ),
    WatchAction(
        key="x", about="stop the run now", build=lambda t, _, __: ("stop", t, "--now"), confirms=True, of_task=False
    ),
    WatchAction(key="s", about="skip the task", build=lambda t, task, _: ("skip", t, task), confirms=True),
    WatchAction(key="r", about="retry the task", build=lambda t, task, _: ("retry", t, task)),
    WatchAction(
        key="n", about="answer what its agent asks", asks="Answer:", answers=TaskDecision.NOTE,
        build=lambda t, task, text: ("decide", t, task, "--note", text, "--yes"),
    ),
    WatchAction(
        key="n", about="a note for its next agent", asks="Note:",
        build=lambda t, task, text: ("note", t, task, text),
    ),
    WatchAction(
        key="a", about="approve its work", answers=TaskDecision.APPROVE, confirms=True,
        build=lambda t, task, _: ("approve", t, task, "--yes"),
    ),
    WatchAction(
        key="a", about="accept the task without work", asks="Why does it need no work?",
        build=lambda t, task, why: ("accept", t, task, "--why", why, "--yes"),
    ),
)  # fmt: skip
RESUME = WatchAction(key="p", about="resume", build=lambda t, _, __: ("resume", t), of_task=False)


def fitting(key: str, task: Task | None, *, is_paused: bool) -> WatchAction | None:
    """Return what a key does now; None if nothing."""
    if key == RESUME.key and is_paused:
        return RESUME
    needed = FITTING[task.need.kind] if task and task.needs_person and task.need else ()
    for action in ACTIONS:
        if action.key == key and (task or not action.of_task) and (action.answers in (None, *needed)):
            return action
    return None


def listed() -> tuple[str, ...]:
    """Return the keys and what they do, as the help shows them."""
    return tuple(f"{action.key:7}{action.about}" for action in ACTIONS)


def perform(workspace: Workspace, action: WatchAction, target: str, task: str, typed: str) -> str:
    """Do it, and return what the command said."""
    command = action.build(target, task, typed)
    code, said = capture_now([*SELF, *command], cwd=workspace.root, with_errors=True)
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    return " ".join(lines[:2]) or ("Done." if not code else f"`{shlex.join(['ralph', *command])}` failed.")
