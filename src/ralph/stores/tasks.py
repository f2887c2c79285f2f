"""The requirements workflow's files: `.ralph/prd.json`, its learnings, and the markers of what runs once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import validation
from ralph.plan import learnings
from ralph.plan.model import GateResult, Plan, Result, Setup, Task, TaskState
from ralph.stores import atomic, tasks_schema
from ralph.stores.document import update
from ralph.stores.findings import finding_entries
from ralph.validation import Json

STATES = {
    "todo": TaskState.PENDING,
    "in_progress": TaskState.PENDING,
    "done": TaskState.PASSED,
    "failed": TaskState.BLOCKED,
}
LARGEST_NOTES = 1 << 20


@dataclass
class TasksStore:
    """Reads the files into a plan and writes a plan back; keeps all it does not know."""

    path: Path
    target: str
    learnings: Path
    markers: Mapping[str, Path] = field(default_factory=dict)  # of the steps that run once, by their names
    _document: Json = field(default_factory=dict)
    _learned: tuple[str, ...] = ()

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        file = tasks_schema.parse(data, name=str(self.path))
        self._document = validation.parse_object(data, name=str(self.path))
        self._learned = tuple(learnings.entries(notes(self.learnings)))
        plan = plan_of(file, self.target)
        done = frozenset(name for name, marker in self.markers.items() if marker.exists())
        return replace(plan, learnings=self._learned, setup=replace(plan.setup, done=done))

    def save(self, plan: Plan) -> None:
        """What was learned and the markers first: the plan is what says that all of it counts."""
        self._write_learnings(plan.learnings)
        for name, marker in self.markers.items():
            if name in plan.setup.done and not marker.exists():
                atomic.write(marker, b"This step has run. Remove this file to have it run again.\n")
        atomic.write(self.path, self.render(plan))

    def render(self, plan: Plan) -> bytes:
        from pydantic_core import to_json

        tasks = self._document["tasks"]
        assert isinstance(tasks, list), "load has checked"
        for entry, task in zip(tasks, plan.tasks, strict=True):
            update(entry, _entry(task, plan.current))
        self._document["started_at"] = plan.started_at or None
        setup = plan.setup
        if "setup" in self._document or setup.attempts:
            state = {"attempts": setup.attempts, "failures": setup.failures, "notes": setup.notes}
            update(self._document, {"setup": state})
        return to_json(self._document, indent=2) + b"\n"

    def _write_learnings(self, known: tuple[str, ...]) -> None:
        """Add what was said in markers; what agents wrote or took out themselves stays as it is."""
        new = [text for text in known if text not in self._learned]
        self._learned = known
        path = self.learnings
        if not new or (path.exists() and not path.is_file() and not path.is_symlink()):
            return  # an agent made a folder or a pipe of it: that is no reason to stop
        before = b"" if self.learnings.is_symlink() or not self.learnings.exists() else self.learnings.read_bytes()
        missing = [line for line in new if line.encode() not in before]
        if missing:
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            atomic.write(self.learnings, before + gap + "".join(f"- {line}\n" for line in missing).encode())


def notes(path: Path) -> str:
    """What agents wrote down; an agent can put anything there, so only a file of a sensible size counts."""
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(LARGEST_NOTES).decode(errors="replace")
    except OSError:
        return ""


def plan_of(file: tasks_schema.Tasks, target: str) -> Plan:
    return Plan(
        target=target,
        description=file.description,
        tasks=tuple(_task(entry) for entry in file.tasks),
        current=next((entry.id for entry in file.tasks if entry.status == "in_progress"), None),
        started_at=file.started_at or "",
        setup=Setup(attempts=file.setup.attempts, failures=file.setup.failures, notes=file.setup.notes),
    )


def _task(entry: tasks_schema.Task) -> Task:
    return Task(
        id=entry.id,
        title=entry.title,
        description=entry.description,
        criteria=tuple(entry.acceptance_criteria),
        depends_on=tuple(entry.depends_on),
        state=STATES[entry.status],
        failures=entry.loops,
        idle=entry.idle_loops,
        attempts=entry.attempts,
        base=entry.base_commit,
        notes=entry.notes,
        tried=tuple(entry.tried),
        rounds=entry.review_rounds,
        findings=tuple(one.finding for one in entry.findings),
        result=_result(entry.result),
    )


def _result(result: tasks_schema.Result | None) -> Result | None:
    if result is None:
        return None
    gates = tuple(
        GateResult(
            name=gate.name,
            command=gate.command,
            passed=gate.passed,
            seconds=gate.seconds,
            in_place=gate.in_place,
        )
        for gate in result.verify
    )
    return Result(completed_at=result.completed_at, commit=result.commit, summary=result.summary, gates=gates)


def _entry(task: Task, current: str | None) -> Json:
    """What Ralph owns of a task."""
    return {
        "status": _status(task, current),
        "notes": task.notes,
        "tried": list(task.tried),
        "review_rounds": task.rounds,
        "findings": finding_entries(task.findings),
        "loops": task.failures,
        "idle_loops": task.idle,
        "attempts": task.attempts,
        "base_commit": task.base,
        "result": _result_entry(task.result),
    }


def _status(task: Task, current: str | None) -> str:
    match task.state:
        case TaskState.PASSED:
            return "done"
        case TaskState.BLOCKED:
            return "failed"
        case _:
            return "in_progress" if task.id == current else "todo"


def _result_entry(result: Result | None) -> Json | None:
    if result is None:
        return None
    return {
        "completed_at": result.completed_at,
        "commit": result.commit,
        "summary": result.summary,
        "verify": [
            {
                "name": g.name,
                "command": g.command,
                "passed": g.passed,
                "seconds": round(g.seconds, 3),
                **({"in_place": True} if g.in_place else {}),
            }
            for g in result.gates
        ],
    }
