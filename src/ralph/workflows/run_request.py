"""A run that has been checked and can start: what a workflow hands to the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ralph.checkout.open import CheckoutRequest
from ralph.engine.workflow import Workflow
from ralph.frozen import Frozen
from ralph.journal.writer import Listener


class RunRequest(Frozen):
    """Everything that differs between workflows at the start and at the end of a run."""

    checkout: CheckoutRequest
    open: Callable[[Path], Workflow]  # takes the project root that has the plan's files
    command: str  # what a person types to resume it
    more: str = ""  # how to add work to it
    listeners: tuple[Listener, ...] = ()
    figures: str = ""  # a file with its results, for other programs
    artifacts: str = ""  # a folder with the files that its agents wrote for each other
    review: Callable[[], str] = str  # the file with its final review, when it is done
    manual: bool = True  # whether `ralph retry` works for its tasks
    warnings: tuple[str, ...] = ()  # what a person should know before it starts
