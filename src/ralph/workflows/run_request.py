"""A run that has been checked and can begin: what a workflow tells the command line about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ralph.checkout.open import CheckoutRequest
from ralph.engine.workflow import Workflow
from ralph.journal.writer import Listener


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Everything that differs between workflows when a run begins and when it has ended."""

    checkout: CheckoutRequest
    open: Callable[[Path], Workflow]  # given the project root that holds the plan's files
    command: str  # what a person types to resume it
    more: str = ""  # how to get more work for it
    listeners: tuple[Listener, ...] = ()
    figures: str = ""  # a file in which other programs find what it came to
    artifacts: str = ""  # a folder with what its agents wrote for each other
    review: Callable[[], str] = str  # the file with its final review, when it is done
    manual: bool = True  # `ralph retry` is for its tasks
    warnings: tuple[str, ...] = ()  # what a person should know before it begins
