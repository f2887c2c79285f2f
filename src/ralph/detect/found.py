"""What was found in a project, each with the place that says so."""

from __future__ import annotations

from enum import IntEnum

from ralph.frozen import Frozen

Aspect = tuple[str, str]
"""What a check covers: an ecosystem such as `python`, and a kind such as `test`."""


class FoundIn(IntEnum):
    """Where a command was found; the first is the best evidence that it is a check of this project."""

    CI = 0  # it decides about every change today
    TASK = 1  # a target or script that people call
    SETTINGS = 2  # a tool is configured, or its files are there


class FoundGate(Frozen):
    """A command that checks the project."""

    command: str
    why: str
    source: FoundIn
    covers: frozenset[Aspect]


class FoundService(Frozen):
    """A program that pages need."""

    name: str
    start: str
    ready: str
    why: str


class FoundFact(Frozen):
    """Something that a person should know; nothing is written for it."""

    what: str
    why: str


class Findings(Frozen):
    """Everything that was found in one project."""

    gates: tuple[FoundGate, ...] = ()
    services: tuple[FoundService, ...] = ()
    facts: tuple[FoundFact, ...] = ()
