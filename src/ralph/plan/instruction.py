"""Instructions: what a person asks of a run while it is under way, and what became of it."""

from __future__ import annotations

from enum import Enum

from ralph.frozen import Frozen


class Command(Enum):
    """What a person can ask of a run, by the name of the command."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SKIP = "skip"
    RETRY = "retry"
    NOTE = "note"
    EDIT = "edit"
    ACCEPT = "accept"
    DECIDE = "decide"


ABOUT_RUN = frozenset({Command.PAUSE, Command.RESUME, Command.STOP})
"""They are for one run, and mean nothing to the next; all others change the plan."""


class TaskText(Frozen):
    """What a task asks for, in a person's words."""

    title: str
    description: str = ""
    criteria: tuple[str, ...] = ()


class Instruction(Frozen):
    """One thing that a person asks of a run, complete enough for the next run to carry it out."""

    id: str  # sorts by time
    command: Command
    target: str
    run: str = ""  # the run that it is for, if it is about the run itself
    tasks: tuple[str, ...] = ()
    now: bool = False  # do not wait for the running attempts
    text: str = ""  # a note, or why
    by: str = ""  # the person's name in git
    decision: str = ""  # the option of `ralph decide`
    wanted: TaskText | None = None  # what an edited task asks for from now on

    def ends_attempts_at(self, task: str) -> bool:
        """Whether a running attempt at the task ends first: it would be for nothing, or without the person's words."""
        if task not in self.tasks:
            return False
        return self.now or self.command in (Command.SKIP, Command.RETRY, Command.ACCEPT)


class Acknowledgement(Frozen):
    """What became of an instruction."""

    said: str  # a sentence for the person
    then: str | None = None  # what a run must still do, after "Run `…` to"; empty: only run; None: nothing is left
    remedy: str = ""  # if it was refused
    is_refused: bool = False
    approved: tuple[str, ...] = ()  # the changes to the checks that it approved
