"""What every attempt used, kept over all runs: one event for each in `.ralph/run/spending.jsonl`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import safe_files
from ralph.journal.decode import decode
from ralph.journal.encode import encode
from ralph.journal.events import AttemptEnded
from ralph.journal.reader import bounded_lines
from ralph.plan.budget import AmountSpent
from ralph.plan.work import Verdict, WorkKind

NAME = "spending.jsonl"
APPENDING = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class TargetSpending:
    """What the attempts of one plan used, in all and for each task."""

    total: AmountSpent = field(default_factory=AmountSpent)
    tasks: dict[str, AmountSpent] = field(default_factory=dict)

    def add(self, event: AttemptEnded) -> None:
        spent = AmountSpent(usage=event.usage, attempts=int(event.counts), seconds=event.seconds)
        self.total += spent
        self.tasks[event.work] = self.tasks.get(event.work, AmountSpent()) + spent


def append(folder: Path, run: str, target: str, event: AttemptEnded) -> Path:
    """Add an attempt. One write adds the whole line; a line that a crash cut off stays a line of its own."""
    short = replace(event, reason="", gates=(), reopened=(), no_page="")
    with safe_files.folder(folder) as handle:
        descriptor = os.open(NAME, APPENDING, 0o644, dir_fd=handle)
    try:
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        safe_files.write_all(descriptor, b"\n" * is_cut + encode(short, seq=0, run=run, target=target))
    finally:
        os.close(descriptor)
    return folder / NAME


def of_target(folder: Path, target: str) -> TargetSpending:
    """Return what all runs of a plan have used so far."""
    found = TargetSpending()
    for event in _attempts(folder / NAME, target):
        found.add(event)
    return found


def of_passed_tasks(folder: Path) -> tuple[AmountSpent, ...]:
    """Return what each task of the project that has passed took, over all plans and attempts."""
    found: dict[tuple[str, str], AmountSpent] = {}
    passed: set[tuple[str, str]] = set()
    for target, event in _entries(folder / NAME, b""):
        if event.kind is WorkKind.TASK:
            task = (target, event.work)
            spent = AmountSpent(usage=event.usage, attempts=int(event.counts), seconds=event.seconds)
            found[task] = found.get(task, AmountSpent()) + spent
            passed |= {task} if event.verdict is Verdict.PASSED else set()
    return tuple(found[task] for task in found if task in passed)


def _attempts(path: Path, target: str) -> Iterator[AttemptEnded]:
    return (event for name, event in _entries(path, target.encode()) if name == target)


def _entries(path: Path, named: bytes) -> Iterator[tuple[str, AttemptEnded]]:
    try:
        file = safe_files.open_old(path)
    except OSError:
        return
    with file:
        for line in bounded_lines(file):
            entry = decode(line) if named in line else None
            if entry and isinstance(entry.event, AttemptEnded):
                yield entry.target, entry.event
