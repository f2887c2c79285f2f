"""The specs workflow's files: implementation.json, read into a plan and written back, and PROGRESS.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import validation
from ralph.journal.writer import now
from ralph.plan.model import Plan, Spec, TaskState
from ralph.stores import atomic
from ralph.stores.task_codec import entries, render
from ralph.validation import Json
from ralph.workflows.formats import SPEC, SPEC_TASK, SPECS
from ralph.workspace import PROGRESS, SPECS_PLAN

TARGET = "specs"
Tell = Callable[[Plan, Spec], str]


@dataclass
class ImplementationStore:
    """Reads the file into a plan and writes a plan back; keeps unknown fields."""

    root: Path
    tell: Tell | None = None  # makes the entry of PROGRESS.md for a closed spec
    _document: Json = field(default_factory=dict)
    _closed: frozenset[str] = frozenset()

    @property
    def path(self) -> Path:
        return self.root / SPECS_PLAN

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        self._document, plan = read(data)
        self._closed = _closed(plan)
        return plan

    def save(self, plan: Plan) -> None:
        """Save the progress first: the plan makes it count."""
        for spec in plan.specs:
            if self.tell and spec.id in _closed(plan) - self._closed:
                _append(self.root / PROGRESS, self.tell(plan, spec))
        self._closed = _closed(plan)
        atomic.write(self.path, self.render(plan))

    def render(self, plan: Plan) -> bytes:
        for entry in entries(self._document, "specs"):
            for item in entries(entry, "tasks"):
                task = plan.find(str(item["id"]))
                assert task is not None, "tasks come and go only in plan mode"
                SPECS.codec.update(SPEC_TASK, item, task, begun=task.id == plan.current)
            spec = plan.find_spec(str(entry["id"]))
            assert spec is not None, "so do specs"
            begun = any(task.attempts or task.id == plan.current for task in plan.of_spec(spec.id))
            SPECS.codec.update(SPEC, entry, spec, begun=begun)
        self._document |= {"updatedAt": now(), "updatedBy": "build-mode"}
        SPECS.codec.update(SPECS.part, self._document, plan)
        return render(self._document)


def _append(path: Path, entry: str) -> None:
    """Add an entry if it is missing; what a person or an earlier run wrote does not change."""
    before = path.read_bytes() if path.is_file() else b"# Progress\n"
    mark = next((line for line in entry.splitlines() if line.startswith("<!--")), entry)
    if mark.encode() not in before:
        atomic.write(path, before.rstrip(b"\n") + b"\n\n" + entry.encode())


def _closed(plan: Plan) -> frozenset[str]:
    """The specs whose results are complete; a commit cannot contain its own id."""
    return frozenset(spec.id for spec in plan.specs if spec.state is not TaskState.PENDING and _is_named(plan, spec))


def _is_named(plan: Plan, spec: Spec) -> bool:
    has_commit = bool(spec.result and spec.result.commit)
    return has_commit or all(task.state is not TaskState.PASSED for task in plan.of_spec(spec.id))


def read(data: bytes, *, name: str = SPECS_PLAN) -> tuple[Json, Plan]:
    """The document and its plan, or an error with all mistakes."""
    document, plan = SPECS.load(data, name=name)
    tasks = (task for spec in entries(document, "specs") for task in entries(spec, "tasks"))
    return document, replace(plan, target=TARGET, current=SPECS.codec.begun(tasks))
