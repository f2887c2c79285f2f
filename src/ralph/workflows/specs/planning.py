"""Plan mode: an agent turns specs into tasks; its answer is checked against the specs and the existing plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_core import to_json

from ralph import validation
from ralph.frozen import Frozen
from ralph.journal.writer import now
from ralph.plan.model import Plan, TaskState
from ralph.stores import atomic
from ralph.stores.task_codec import entries, render
from ralph.validation import Json, Mistakes
from ralph.workflows.formats import SPECS
from ralph.workflows.planning import Planner
from ralph.workflows.specs.covers import missing, numbers
from ralph.workflows.specs.freshness import fingerprint
from ralph.workflows.specs.merge import MergeResult, merge
from ralph.workflows.specs.spec_files import ListEntry, SpecFile, read_all
from ralph.workflows.specs.store import read as read_plan
from ralph.workspace import SPECS_PLAN

MAX_PROMPT = 200_000


class PlannedSpecs(Frozen):
    """A plan that was written, and how it differs from the previous one."""

    plan: Plan
    is_new: bool  # there was no plan before
    changes: tuple[str, ...]
    added_criteria: int = 0
    unlisted: tuple[str, ...] = ()  # specs without a list to check the plan against


@dataclass
class SpecPlanner:
    """Makes implementation.json from the specs, or updates it."""

    planner: Planner
    sources: Path  # the project root whose specs are planned
    specs: list[SpecFile] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.planner.root

    async def make(self) -> PlannedSpecs:
        """Ask for a plan. The old file stays until there is a valid one that forgets nothing."""
        self.specs = read_all(self.sources)
        texts = {spec.file: fingerprint((self.sources / spec.file).read_bytes()) for spec in self.specs}
        old = existing(self.root)
        variables = {"specs": _shown(self.specs), "existing": _listed(old)}

        def read(data: bytes) -> MergeResult:
            return check(validation.parse_object(data, name="the plan"), old, self.specs)

        merged = await self.planner.ask("plan", "Turning the specs into tasks", "specs-plan", variables, read)
        data = render(_stamped(merged.document, texts))
        document, plan = read_plan(data)
        if _content(document) != _content(old):
            atomic.write(self.root / SPECS_PLAN, data)
        return PlannedSpecs(
            plan=plan,
            is_new=not old.get("specs"),
            changes=merged.changes,
            added_criteria=merged.added_criteria,
            unlisted=tuple(spec.file for spec in self.specs if not spec.tasks),
        )


def _content(document: Json) -> Json:
    """Everything except who wrote it, and when."""
    return {key: value for key, value in document.items() if key not in ("updatedAt", "updatedBy")}


def _stamped(document: Json, texts: Mapping[str, str]) -> Json:
    """With the time, and the hash of each spec's planned text: the file may have changed since."""
    for entry in entries(document, "specs"):
        file = str(entry["file"])
        if file in texts:
            entry["specHash"] = texts[file]
    return {**document, "updatedAt": now(), "updatedBy": "plan-mode"}


def existing(root: Path) -> Json:
    """The existing plan, as a document; empty if there is none."""
    path = root / SPECS_PLAN
    if not path.exists():
        return {}
    return read_plan(validation.read(path))[0]  # report a broken plan before calling an agent


def check(answer: Json, old: Json, specs: list[SpecFile]) -> MergeResult:
    """An agent's answer merged with the existing plan; everything it forgot is a mistake."""
    merged = merge(answer, old, specs)
    mistakes = list(merged.mistakes)
    try:
        SPECS.check(to_json(merged.document), name="the plan")
    except Mistakes as error:
        raise Mistakes("the plan", [*mistakes, *error.mistakes]) from None
    planned = {str(entry["file"]): entry for entry in entries(merged.document, "specs")}
    for spec in specs:
        entry = planned.get(spec.file)
        if entry is not None:
            forgotten = missing(spec, entries(entry, "tasks"))
            mistakes += [_forgotten(spec, number, listed) for number, listed in forgotten.items()]
    if mistakes:
        raise Mistakes("the plan", mistakes)
    return merged


def _forgotten(spec: SpecFile, number: str, listed: ListEntry) -> str:
    return (
        f"{spec.file}:{listed.line}: no task covers {listed.text!r}; add one, "
        f'or name {number!r} in "covers" of the task that covers it'
    )


def _shown(specs: list[SpecFile]) -> str:
    """Every spec with its text and the numbers of its listed tasks; if there are very many, only their paths."""
    whole = "\n\n".join(f"{_head(spec)}\n\n<spec>\n{spec.text.strip()}\n</spec>{_numbered(spec)}" for spec in specs)
    if len(whole) <= MAX_PROMPT:
        return whole
    return "\n\n".join(f"{_head(spec)}\n\nRead that file.{_numbered(spec)}" for spec in specs)


def _numbered(spec: SpecFile) -> str:
    lines = [f"- `{number}` {listed.text}" for number, listed in numbers(spec).items() if not listed.done]
    return "\n".join(("\n\nIt lists:\n", *lines)) if lines else ""


def _head(spec: SpecFile) -> str:
    return f"### {spec.name}\n\nfile `{spec.file}`, id `{spec.id}`"


def _listed(old: Json) -> str:
    """The existing tasks with their state, as an agent needs them."""
    if not old:
        return ""
    _, plan = read_plan(to_json(old))
    marks = {TaskState.PASSED: "completed", TaskState.BLOCKED: "blocked", TaskState.PENDING: "pending"}
    return "\n".join(f"- `{task.id}` ({marks[task.state]}, spec `{task.spec}`): {task.title}" for task in plan)
