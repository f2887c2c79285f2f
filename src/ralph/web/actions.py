"""What a person can do from the dashboard. Each action is one of Ralph's own commands, so both check the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

from ralph.frozen import Frozen
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import Task, TaskState
from ralph.process.blocking import capture_now
from ralph.text import one_line
from ralph.web.project import WebProject
from ralph.workflows.plan_rules import MAX_WHY


class Action(Frozen):
    """Something that a person can do about a task or a run, and the command that does it."""

    key: str
    label: str
    about: str  # what comes of it
    command: Callable[[str, str, str], tuple[str, ...]]  # by target, task and note
    needs_note: bool = False
    asks: bool = False  # whether the browser asks once more


class Done(Frozen):
    """How an action ended, in the command's own words."""

    ok: bool
    text: str


def _decide(option: str) -> Callable[[str, str, str], tuple[str, ...]]:
    return lambda target, task, note: ("decide", option, "--yes", "--", target, task)


def _note(target: str, task: str, note: str) -> tuple[str, ...]:
    return ("decide", f"--note={note}", "--yes", "--", target, task)


def _tell(target: str, task: str, note: str) -> tuple[str, ...]:
    return ("note", "--", target, task, note)


def _again(target: str, task: str, note: str) -> tuple[str, ...]:
    return ("retry", f"--note={note}", "--", target, task)


def _leave_out(target: str, task: str, note: str) -> tuple[str, ...]:
    return ("skip", "--", target, task)


def _of_run(name: str) -> Callable[[str, str, str], tuple[str, ...]]:
    return lambda target, task, note: (name, "--", target)


def _retry(target: str, task: str, note: str) -> tuple[str, ...]:
    return ("retry", "--", target, task)


ACTIONS: dict[str, Action] = {
    action.key: action
    for action in (
        Action(key="note", label="Try again with this note", about="", command=_note, needs_note=True),
        Action(
            key="approve",
            label="Approve",
            about="Its gates are green. The next run lands it.",
            command=_decide(TaskDecision.APPROVE.value),
            asks=True,
        ),
        Action(
            key="gate-is-right",
            label="The gate is right",
            about="The gate must pass; an agent tries again and is told so.",
            command=_decide(TaskDecision.GATE_IS_RIGHT.value),
        ),
        Action(
            key="skip",
            label="Skip",
            about="Leave the task out, or do not require its gate.",
            command=_decide(TaskDecision.SKIP.value),
            asks=True,
        ),
        Action(key="retry", label="Try again", about="All its attempts begin anew.", command=_retry, asks=True),
        Action(key="again", label="Do it again with this note", about="", command=_again, needs_note=True, asks=True),
        Action(key="tell", label="Tell the next agent", about="", command=_tell, needs_note=True),
        Action(
            key="leave-out",
            label="Leave it out",
            about="Tasks that need it wait. Try again brings it back.",
            command=_leave_out,
            asks=True,
        ),
    )
}
RUN_ACTIONS: dict[str, Action] = {
    action.key: action
    for action in (
        Action(
            key="pause",
            label="Pause",
            about="The running attempts end, and nothing else starts.",
            command=_of_run("pause"),
        ),
        Action(key="resume", label="Resume", about="The run goes on.", command=_of_run("resume")),
        Action(
            key="stop",
            label="Stop",
            about="The run ends after its running attempts.",
            command=_of_run("stop"),
            asks=True,
        ),
    )
}
OF_DECISION = {
    TaskDecision.NOTE: "note",
    TaskDecision.APPROVE: "approve",
    TaskDecision.GATE_IS_RIGHT: "gate-is-right",
    TaskDecision.SKIP: "skip",
}


def offered(task: Task, *, in_session: bool) -> tuple[Action, ...]:
    """Return what can be done about a task as it is now, the most likely first."""
    return () if in_session else tuple(ACTIONS[key] for key in _offered(task))


def _offered(task: Task) -> Iterator[str]:
    if task.needs_person and task.need:
        yield from (OF_DECISION[decision] for decision in FITTING[task.need.kind])
        yield "retry"
    elif task.state is TaskState.BLOCKED:
        yield from ("retry",) if task.left_out else ("again", "retry", "leave-out")
    elif task.state is TaskState.PASSED:
        yield "again"
    elif task.need is None:
        yield from ("tell", "leave-out")


def of_run(*, is_running: bool, is_paused: bool) -> tuple[Action, ...]:
    """Return what can be done about the run that is at work."""
    if not is_running:
        return ()
    return RUN_ACTIONS["resume" if is_paused else "pause"], RUN_ACTIONS["stop"]


def perform(project: WebProject, action: Action, target: str, task: str, note: str) -> Done:
    """Run the action's command in the project, and return what it says."""
    note = one_line(note)
    if action.needs_note and not note:
        return Done(ok=False, text="Write what the agent should know.")
    if len(note) > MAX_WHY:
        return Done(ok=False, text=f"The note has {len(note)} characters; at most {MAX_WHY} fit.")
    root = str(project.workspace.root)
    # -P: nothing in the project is imported in place of a module
    argv = (sys.executable, "-P", "-m", "ralph", "-C", root, *action.command(target, task, note))
    code, out = capture_now(argv, cwd=project.workspace.root, env={**os.environ, "NO_COLOR": "1"}, with_errors=True)
    text = out.decode(errors="replace").strip()
    return Done(ok=code == 0, text=text or f"`ralph` ended with {code}.")
