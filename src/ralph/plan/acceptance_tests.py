"""Acceptance tests: what a tester wrote from a task's criteria before the task was implemented."""

from __future__ import annotations

import hashlib
import json

from ralph.frozen import Frozen
from ralph.plan.model import Plan, Spec, Task

ACCEPTANCE = "acceptance tests"
"""How agents and persons call a task's acceptance tests where a gate's name is expected."""
ABOUT_TESTS = "About the acceptance tests: "
"""How a person's words to the tester begin among a task's decisions."""


class AcceptanceFile(Frozen):
    """One file that the tester added or changed."""

    path: str  # in the project
    text: str
    executable: bool = False
    before: str = ""  # the blob that the base had there; empty: the file is new


class AcceptanceTests(Frozen):
    """The acceptance tests of one task, and how far they are checked."""

    task: str
    wish: str  # what they were written from, as a digest
    base: str = ""  # the commit on which they were written
    files: tuple[AcceptanceFile, ...] = ()
    tester: str = ""  # the agent that wrote them
    is_checked: bool = False  # they fail without the work
    mistakes: tuple[str, ...] = ()  # why they cannot be used; the tester is asked again
    red: tuple[str, ...] = ()  # the tests, or else the gates, that fail without the work
    gates: tuple[str, ...] = ()  # the gates that run them
    wrong: str = ""  # why a reviewer found them wrong, so that they were asked for again
    former: tuple[str, ...] = ()  # paths of earlier versions

    @property
    def are_wanted(self) -> bool:
        """Whether the tester must write them, or write them again."""
        return bool(self.mistakes) or not self.files

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(file.path for file in self.files)


def spec_of(plan: Plan, task: Task) -> Spec | None:
    return plan.find_spec(task.spec) if task.spec else None


def wish_of(plan: Plan, task: Task) -> str:
    """Return a digest of all that a tester reads about a task; new tests are written when it changes."""
    spec = spec_of(plan, task)
    notes = [text for text in task.decisions if text.startswith(ABOUT_TESTS)]
    asked = [task.title, task.description, *task.criteria, *(spec.criteria if spec else ()), *notes]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
