"""The requirements workflow's files: `.ralph/prd.json`, its learnings, and the markers of steps that run once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import limits, safe_files, validation
from ralph.plan import learnings
from ralph.plan.model import Plan
from ralph.stores import atomic
from ralph.stores.task_codec import entries, render
from ralph.validation import Json
from ralph.workflows.formats import TASK, TASKS


@dataclass
class TasksStore:
    """Reads the files into a plan and writes a plan back; keeps unknown fields."""

    path: Path
    target: str
    learnings: Path
    markers: Mapping[str, Path] = field(default_factory=dict)  # of the steps that run once, by name
    _document: Json = field(default_factory=dict)
    _learned: tuple[str, ...] = ()

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        self._document, plan = read(data, name=str(self.path))
        self._learned = tuple(learnings.entries(notes(self.learnings)))
        done = frozenset(name for name, marker in self.markers.items() if marker.exists())
        setup = replace(plan.setup, done=done)
        return replace(plan, target=self.target, learnings=self._learned, setup=setup)

    def save(self, plan: Plan) -> None:
        """Save the learnings and the markers first: the plan makes them count."""
        self._write_learnings(plan.learnings)
        for name, marker in self.markers.items():
            if name in plan.setup.done and not marker.exists():
                atomic.write(marker, b"This step has run. Remove this file to run it again.\n")
        atomic.write(self.path, self.render(plan))

    def render(self, plan: Plan) -> bytes:
        for entry, task in zip(entries(self._document, "tasks"), plan.tasks, strict=True):
            TASKS.codec.update(TASK, entry, task, begun=task.id == plan.current)
        TASKS.codec.update(TASKS.part, self._document, plan)
        return render(self._document)

    def _write_learnings(self, known: tuple[str, ...]) -> None:
        """Add the learnings from markers; what agents added or removed themselves does not change."""
        new = [text for text in known if text not in self._learned]
        self._learned = known
        path = self.learnings
        if not new or (path.exists() and not path.is_file() and not path.is_symlink()):
            return  # an agent replaced it by a folder or a pipe: not a reason to stop
        before = b"" if path.is_symlink() or not path.exists() else safe_files.read(path)
        if before is None:
            return  # nobody reads such a file to its end
        missing = [line for line in new if line.encode() not in before]
        if missing:
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            atomic.write(self.learnings, before + gap + "".join(f"- {line}\n" for line in missing).encode())


def notes(path: Path) -> str:
    """What agents wrote. An agent can put anything there, so of a large file only the newest part counts."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - limits.NOTES, 0))
            newest = file.read(limits.NOTES)
        return (newest if size <= limits.NOTES else newest.partition(b"\n")[2]).decode(errors="replace")
    except OSError:
        return ""


def read(data: bytes, *, name: str) -> tuple[Json, Plan]:
    """The document and its plan, without the other files; or an error with all mistakes."""
    document, plan = TASKS.load(data, name=name)
    return document, replace(plan, current=TASKS.codec.begun(entries(document, "tasks")))
