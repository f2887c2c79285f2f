"""A request's files: state.json, tasks/*.json and results/*.json, read into a plan and written back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.journal.writer import now
from ralph.plan.model import Plan, Task, TaskState
from ralph.stores import atomic
from ralph.stores.task_codec import render
from ralph.validation import Json, Mistakes, UnusualForm, parse_plainly
from ralph.workflows.formats import REQUEST_CODEC as CODEC
from ralph.workflows.formats import REQUEST_STATES as STATES
from ralph.workflows.formats import REQUEST_TASK, RequestState
from ralph.workflows.formats import STATE as STATE_FILE
from ralph.workflows.plan_rules import STATE as STATE_NAME
from ralph.workflows.plan_rules import TASKS as TASKS_FOLDER
from ralph.workflows.plan_rules import of_request, refuse_other_request
from ralph.workflows.request.files import ERRORS, STATE, Files, FilesOnDisk, result_file, task_file, task_names
from ralph.workflows.request.phases import FOLLOWING, NEXT_STEP, Phase, may_follow, reached
from ralph.workspace import RALPH

TARGET = "request"


@dataclass
class RequestStore:
    """Reads the files into a plan and writes a plan back; keeps unknown fields."""

    root: Path
    files: Files | None = None  # the source to read from, if not the root
    branch: str = ""  # the branch that has the plan from now on; empty: unchanged
    _state: Json = field(default_factory=dict)
    _tasks: dict[str, Json] = field(default_factory=dict)

    def load(self, data: bytes | None = None) -> Plan:
        files = self.files or FilesOnDisk(self.root)
        data = files.read(STATE) if data is None else data
        if data is None:
            raise RalphError(
                f"{self.root / STATE} does not exist.", remedy='Make a request with `ralph plan "What you want"`.'
            )
        documents = {name: files.read(f"{RALPH}/tasks/{name}") or b"" for name in task_names(files)}
        read = load(data, documents, name=RALPH)
        self._state, self._tasks = read.document, read.entries
        if self.branch:
            self._state["branch"] = self.branch
        return _plan(read, self.branch)

    def save(self, plan: Plan) -> None:
        """Save the state first and each task's own file last: that file says which attempts have been settled."""
        self._update_state(plan)
        self._write(STATE, self._state)
        for task in plan:
            if task.state is not TaskState.PENDING:
                self._write(result_file(task.id), result_entry(task))
            CODEC.update(REQUEST_TASK.part, self._tasks[task.id], task)
            self._write(task_file(task.id), self._tasks[task.id])

    def _update_state(self, plan: Plan) -> None:
        phase = reached(plan, Phase(self._state["phase"]))
        self._state["phase"] = moved(Phase(self._state["phase"]), phase).value
        self._state["updated_at"] = now()
        self._state["task_statuses"] = {task.id: _status(task, plan.current) for task in plan}
        CODEC.update(STATE_FILE.part, self._state, plan)
        if plan.failure:
            self._state["last_failure"] |= {"log_file": ERRORS}  # type: ignore[operator]  # it was written just now

    def _write(self, path: str, document: Json) -> None:
        """Write only what has changed: a request can have hundreds of tasks, and one attempt changes one of them."""
        data = render(document)
        if FilesOnDisk(self.root).read(path) != data:
            atomic.write(self.root / path, data)


def moved(phase: Phase, to: Phase) -> Phase:
    """The new phase, or an error that lists the allowed ones."""
    if may_follow(phase, to):
        return to
    legal = ", ".join(other.value for other in FOLLOWING[phase])
    raise RalphError(
        f"The request is in the phase {phase.value!r}. The next phase can be {legal}, not {to.value!r}.",
        remedy=f"{NEXT_STEP[phase][0].upper()}{NEXT_STEP[phase][1:]}.",
    )


class RequestDocuments(Frozen):
    """A request's files: their documents, and the plan that they contain."""

    document: Json
    state: RequestState
    entries: dict[str, Json]
    tasks: dict[str, Task]


def load(data: bytes, documents: Mapping[str, bytes], *, name: str) -> RequestDocuments:
    """A state and its task files, by name; or one error with the mistakes of all of them."""
    try:
        state, files = parse_plainly(data), {file: parse_plainly(text) for file, text in sorted(documents.items())}
        if any(True for _ in of_request(state, list(files.items()))):
            raise UnusualForm
        tasks = {file: REQUEST_TASK.codec.read(REQUEST_TASK.part, entry) for file, entry in files.items()}
        read = CODEC.read(STATE_FILE.part, state)
    except (UnusualForm, ValueError, RecursionError):
        state, files, read, tasks = _explained(data, documents, name)
    by_id = {task.id: file for file, task in tasks.items()}
    return RequestDocuments(
        document=state,
        state=read,
        entries={name: files[file] for name, file in by_id.items()},
        tasks={name: tasks[file] for name, file in by_id.items()},
    )


Explained = tuple[Json, dict[str, Json], RequestState, dict[str, Task]]


def _explained(data: bytes, documents: Mapping[str, bytes], name: str) -> Explained:
    """The same with the schemas, which are slower."""
    state = validation.parse_object(data, name=f"{name}/{STATE_NAME}")
    refuse_other_request(state, f"{name}/{STATE_NAME}")
    read, mistakes = STATE_FILE.explain(data)
    mistakes = [f"{STATE_NAME}: {mistake}" for mistake in mistakes]
    files: dict[str, Json] = {}
    tasks: dict[str, Task] = {}
    for file, text in sorted(documents.items()):
        wrong: list[str] = []
        try:
            files[file] = validation.parse_object(text, name=file)
            task, wrong = REQUEST_TASK.explain(text)
        except Mistakes as error:
            files[file], task, wrong = {}, None, error.mistakes
        mistakes += [f"{TASKS_FOLDER}/{file}: {mistake}" for mistake in wrong]
        if task:
            tasks[file] = task
    mistakes += of_request(state, list(files.items()))
    if mistakes or read is None:
        remedy = "`ralph schema request` and `ralph schema request-task` describe every field."
        raise Mistakes(f"The request in {name}", mistakes, remedy)
    return state, files, read, tasks


def _plan(read: RequestDocuments, branch: str) -> Plan:
    state = read.state
    statuses = {name: state.statuses.get(name, "pending") for name in state.order}
    return Plan(
        target=TARGET,
        branch=branch or state.branch,
        description=" ".join(state.request.split()),
        tasks=tuple(replace(read.tasks[name], state=STATES.read((status,))) for name, status in statuses.items()),
        current=next((name for name, status in statuses.items() if (status,) == STATES.begun), None),
        started_at=state.started_at,
        learnings=state.learnings,
        failure=state.failure,
    )


def _status(task: Task, current: str | None) -> str:
    return str(STATES.write(task.state, begun=task.id == current)[0])


def result_entry(task: Task) -> Json:
    """A task's result, for people who read results/."""
    entry = CODEC.write(REQUEST_TASK.part, task)
    result = entry["result"] or {"commit": None, "gates": []}
    assert isinstance(result, dict), "a result is an object"
    return {
        "task_id": task.id,
        "task_title": task.title,
        "status": _status(task, None),
        **result,
        "error_message": task.notes or None,
        **{key: entry[key] for key in ("attempts", "seconds", "usage")},
    }
