"""A request's files: state.json, tasks/*.json and results/*.json, read into a plan and written back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from ralph import validation
from ralph.errors import RalphError
from ralph.journal.writer import now
from ralph.plan.model import Failure, GateResult, Plan, Result, Task, TaskState
from ralph.plan.phases import FOLLOWING, GOING_ON, Phase, may_follow, reached
from ralph.plan.usage import Usage
from ralph.stores import atomic
from ralph.stores import request_schema as schema
from ralph.stores.document import update
from ralph.stores.findings import finding_entries
from ralph.stores.request_files import ERRORS, STATE, Files, OnDisk, result_file, task_file, task_names
from ralph.validation import Json
from ralph.workspace import RALPH

TARGET = "request"
STATES = {
    "pending": TaskState.PENDING,
    "in_progress": TaskState.PENDING,
    "completed": TaskState.PASSED,
    "failed": TaskState.BLOCKED,
}


@dataclass
class RequestStore:
    """Reads the files into a plan and writes a plan back; keeps all it does not know."""

    root: Path
    files: Files | None = None  # where they are read from, if not below the root
    branch: str = ""  # where the plan lives from now on; empty: where it did
    _state: Json = field(default_factory=dict)
    _tasks: dict[str, Json] = field(default_factory=dict)

    def load(self, data: bytes | None = None) -> Plan:
        files = self.files or OnDisk(self.root)
        data = files.read(STATE) if data is None else data
        if data is None:
            raise RalphError(f"{self.root / STATE} does not exist.", remedy='Begin with `ralph plan "REQUEST"`.')
        documents = {name: files.read(f"{RALPH}/tasks/{name}") or b"" for name in task_names(files)}
        state, tasks = schema.parse(data, documents, name=RALPH)
        self._state = validation.parse_object(data, name=STATE)
        self._tasks = {
            task_id: validation.parse_object(documents[f"{task_id}.json"], name=task_file(task_id)) for task_id in tasks
        }
        if self.branch:
            self._state["branch"] = self.branch
        return plan_of(state, tasks, self.branch)

    def save(self, plan: Plan) -> None:
        """The state first and each task's own file last: that one says which attempts have been settled."""
        self._update_state(plan)
        self._write(STATE, self._state)
        for task in plan:
            if task.state is not TaskState.PENDING:
                self._write(result_file(task.id), result_entry(task))
            update(self._tasks[task.id], _task_entry(task))
            self._write(task_file(task.id), self._tasks[task.id])

    def _update_state(self, plan: Plan) -> None:
        phase = reached(plan, Phase(self._state["phase"]))
        self._state["phase"] = moved(Phase(self._state["phase"]), phase).value
        self._state["updated_at"] = now()
        self._state["task_statuses"] = {task.id: _status(task, plan.current) for task in plan}
        failure = plan.failure
        update(self._state, {"last_failure": _failure_entry(failure) if failure else None})
        if plan.started_at or "started_at" in self._state:
            self._state["started_at"] = plan.started_at or None
        if plan.learnings or "learnings" in self._state:
            self._state["learnings"] = list(plan.learnings)

    def _write(self, path: str, document: Json) -> None:
        """Only what has changed: a request can have hundreds of tasks, and one attempt changes one of them."""
        data = rendered(document)
        if OnDisk(self.root).read(path) != data:
            atomic.write(self.root / path, data)


def moved(phase: Phase, to: Phase) -> Phase:
    """The new phase, or an error that says what is legal now."""
    if may_follow(phase, to):
        return to
    legal = ", ".join(other.value for other in FOLLOWING[phase])
    raise RalphError(
        f"The request is in the phase {phase.value!r}: {to.value!r} cannot follow now, only {legal}.",
        remedy=f"{GOING_ON[phase][0].upper()}{GOING_ON[phase][1:]}.",
    )


def rendered(document: Json) -> bytes:
    from pydantic_core import to_json

    return to_json(document, indent=2) + b"\n"


def plan_of(state: schema.State, tasks: dict[str, schema.TaskFile], branch: str = "") -> Plan:
    order = [(tasks[name], state.task_statuses.get(name, "pending")) for name in state.task_order]
    failure = state.last_failure
    return Plan(
        target=TARGET,
        branch=branch or state.branch or "",
        description=" ".join(state.original_request.split()),
        tasks=tuple(_task(task, status) for task, status in order),
        current=next((task.id for task, status in order if status == "in_progress"), None),
        started_at=state.started_at or "",
        learnings=tuple(state.learnings),
        failure=Failure(
            task=failure.task_id, title=failure.task_title, message=failure.error_message, at=failure.failed_at
        )
        if failure
        else None,
    )


def _task(entry: schema.TaskFile, status: str) -> Task:
    used = Usage(**{name: getattr(entry.usage, name) for name in Usage.__dataclass_fields__})
    return Task(
        id=entry.id,
        title=entry.title,
        description=entry.description,
        criteria=tuple(entry.acceptance_criteria),
        depends_on=tuple(entry.dependencies),
        state=STATES[status],
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


def _status(task: Task, current: str | None) -> str:
    match task.state:
        case TaskState.PASSED:
            return "completed"
        case TaskState.BLOCKED:
            return "failed"
        case _:
            return "in_progress" if task.id == current else "pending"


def _failure_entry(failure: Failure) -> Json:
    return {
        "task_id": failure.task,
        "task_title": failure.title,
        "error_message": failure.message,
        "failed_at": failure.at,
        "log_file": ERRORS,
    }


def _task_entry(task: Task) -> Json:
    """What Ralph owns of a task."""
    return {
        "retries": task.failures,
        "attempts": task.attempts,
        "notes": task.notes,
        "tried": list(task.tried),
        "review_rounds": task.rounds,
        "findings": finding_entries(task.findings),
        "base_commit": task.base,
        "seconds": round(task.seconds, 3),
        "usage": schema.Used(**asdict(task.usage)).model_dump(),
        "result": _result_entry(task.result),
    }


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
            **({"in_place": True} if gate.in_place else {}),
        }
        for gate in result.gates
    ]
    return {"completed_at": result.completed_at, "commit": result.commit, "summary": result.summary, "gates": gates}


def result_entry(task: Task) -> Json:
    """What a task came to, for whoever looks at results/."""
    entry = _result_entry(task.result) or {"commit": None, "gates": []}
    return {
        "task_id": task.id,
        "task_title": task.title,
        "status": _status(task, None),
        **entry,
        "error_message": task.notes or None,
        "attempts": task.attempts,
        "seconds": round(task.seconds, 3),
        "usage": schema.Used(**asdict(task.usage)).model_dump(),
    }
