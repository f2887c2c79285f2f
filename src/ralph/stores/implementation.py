"""The specs workflow's file: implementation.json, read into a plan and written back, and the progress beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ralph import validation
from ralph.journal.writer import now
from ralph.plan.model import GateResult, Plan, Result, Spec, Task, TaskState
from ralph.plan.usage import Usage
from ralph.stores import atomic
from ralph.stores import implementation_schema as schema
from ralph.stores.document import update
from ralph.stores.findings import finding_entries
from ralph.validation import Json
from ralph.workspace import PROGRESS, SPECS_PLAN

TARGET = "specs"
STATES = {
    "pending": TaskState.PENDING,
    "in_progress": TaskState.PENDING,
    "completed": TaskState.PASSED,
    "blocked": TaskState.BLOCKED,
}
Tell = Callable[[Plan, Spec], str]


@dataclass
class ImplementationStore:
    """Reads the file into a plan and writes a plan back; keeps all it does not know."""

    root: Path
    tell: Tell | None = None  # what PROGRESS.md says of a spec that has been closed
    _document: Json = field(default_factory=dict)
    _closed: frozenset[str] = frozenset()

    @property
    def path(self) -> Path:
        return self.root / SPECS_PLAN

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        plan = plan_of(schema.parse(data))
        self._document = validation.parse_object(data, name=SPECS_PLAN)
        self._closed = _closed(plan)
        return plan

    def save(self, plan: Plan) -> None:
        """The progress first: the plan is what says that all of it counts."""
        for spec in plan.specs:
            if self.tell and spec.id in _closed(plan) - self._closed:
                _append(self.root / PROGRESS, self.tell(plan, spec))
        self._closed = _closed(plan)
        atomic.write(self.path, self.render(plan))

    def render(self, plan: Plan) -> bytes:
        from pydantic_core import to_json

        specs = self._document["specs"]
        assert isinstance(specs, list), "load has checked"
        for entry in specs:
            for item in entry["tasks"]:
                task = plan.find(item["id"])
                assert task is not None, "tasks come and go only in plan mode"
                update(item, _task_entry(task, plan.current))
            spec = plan.find_spec(entry["id"])
            assert spec is not None, "so do specs"
            update(entry, _spec_entry(spec, plan))
        self._document["updatedAt"], self._document["updatedBy"] = now(), "build-mode"
        self._document["startedAt"] = plan.started_at or None
        if plan.learnings or "learnings" in self._document:
            self._document["learnings"] = list(plan.learnings)
        return to_json(self._document, indent=2) + b"\n"


def _append(path: Path, entry: str) -> None:
    """Add an entry that is not there yet; what a person or an earlier run wrote stays as it is."""
    before = path.read_bytes() if path.is_file() else b"# Progress\n"
    mark = next((line for line in entry.splitlines() if line.startswith("<!--")), entry)
    if mark.encode() not in before:
        atomic.write(path, before.rstrip(b"\n") + b"\n\n" + entry.encode())


def _closed(plan: Plan) -> frozenset[str]:
    """The specs of which all is known; what a commit holds of a plan cannot name that commit yet."""
    return frozenset(spec.id for spec in plan.specs if spec.state is not TaskState.PENDING and _is_named(plan, spec))


def _is_named(plan: Plan, spec: Spec) -> bool:
    has_commit = bool(spec.result and spec.result.commit)
    return has_commit or all(task.state is not TaskState.PASSED for task in plan.of_spec(spec.id))


def plan_of(file: schema.Implementation) -> Plan:
    tasks = [(spec, task) for spec in file.specs for task in spec.tasks]
    return Plan(
        target=TARGET,
        tasks=tuple(_task(task, spec.id) for spec, task in tasks),
        current=next((task.id for _, task in tasks if task.status == "in_progress"), None),
        started_at=file.started_at or "",
        learnings=tuple(file.learnings),
        specs=tuple(_spec(entry) for entry in file.specs),
    )


def _task(entry: schema.TaskEntry, spec: str) -> Task:
    used = Usage(**{name: getattr(entry.usage, name) for name in Usage.__dataclass_fields__})
    return Task(
        id=entry.id,
        title=entry.description,
        criteria=tuple(entry.acceptance_criteria),
        state=STATES[entry.status],
        failures=entry.retries,
        attempts=entry.attempts,
        base=entry.base_commit,
        notes=entry.notes,
        tried=tuple(entry.tried),
        rounds=entry.review_rounds,
        findings=tuple(one.finding for one in entry.findings),
        seconds=entry.seconds,
        usage=used,
        result=_result(entry.result),
        spec=spec,
    )


def _spec(entry: schema.SpecEntry) -> Spec:
    """A spec is closed when it says so and nothing in it is left to do: a person may have opened a task again."""
    settled = all(STATES[task.status] is not TaskState.PENDING for task in entry.tasks)
    return Spec(
        id=entry.id,
        name=entry.name,
        file=entry.file,
        priority=entry.priority,
        context=entry.context,
        criteria=tuple(entry.acceptance_criteria),
        state=STATES[entry.status] if settled else TaskState.PENDING,
        attempts=entry.attempts,
        failures=entry.failures,
        notes=entry.notes,
        result=_result(entry.result),
    )


def _result(result: schema.Result | None) -> Result | None:
    if result is None:
        return None
    gates = tuple(
        GateResult(
            name=gate.name,
            command=gate.command,
            passed=gate.passed,
            required=gate.required,
            seconds=gate.seconds,
            in_place=gate.in_place,
        )
        for gate in result.gates
    )
    return Result(completed_at=result.completed_at, commit=result.commit, summary=result.summary, gates=gates)


def _task_entry(task: Task, current: str | None) -> Json:
    """What Ralph owns of a task."""
    used = schema.Used(**asdict(task.usage)).model_dump(by_alias=True)
    return {
        "status": _status(task.state, begun=task.id == current),
        "notes": task.notes,
        "tried": list(task.tried),
        "reviewRounds": task.rounds,
        "findings": finding_entries(task.findings),
        "retries": task.failures,
        "attempts": task.attempts,
        "baseCommit": task.base,
        "seconds": round(task.seconds, 3),
        "usage": used,
        "result": _result_entry(task.result),
    }


def _spec_entry(spec: Spec, plan: Plan) -> Json:
    """What Ralph owns of a spec; one of which anything was tried is in progress until it is closed."""
    begun = any(task.attempts or task.id == plan.current for task in plan.of_spec(spec.id))
    return {
        "status": _status(spec.state, begun=begun),
        "notes": spec.notes,
        "attempts": spec.attempts,
        "failures": spec.failures,
        "result": _result_entry(spec.result),
    }


def _status(state: TaskState, *, begun: bool) -> str:
    match state:
        case TaskState.PASSED:
            return "completed"
        case TaskState.BLOCKED:
            return "blocked"
        case _:
            return "in_progress" if begun else "pending"


def _result_entry(result: Result | None) -> Json | None:
    if result is None:
        return None
    gates = [
        {
            "name": gate.name,
            "command": gate.command,
            "passed": gate.passed,
            "required": gate.required,
            "seconds": round(gate.seconds, 3),
            **({"inPlace": True} if gate.in_place else {}),
        }
        for gate in result.gates
    ]
    return {"completedAt": result.completed_at, "commit": result.commit, "summary": result.summary, "gates": gates}
