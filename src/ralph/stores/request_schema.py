"""What a request's state.json and its task files must be, and every mistake in files that are not so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ralph import validation
from ralph.errors import RalphError
from ralph.plan.phases import UNPLANNED
from ralph.stores.prd_rules import BRANCH, LONGEST_BRANCH, LONGEST_ID, STORY_ID, task_rules
from ralph.stores.review import FindingEntry
from ralph.validation import Json, Mistakes

VERSION = "1.0"
STATE, TASKS = "state.json", "tasks"
PhaseName = Literal["research", "decisions", "planning", "planning_complete", "executing", "completed", "failed"]
Status = Literal["pending", "in_progress", "completed", "failed"]
TaskId = Annotated[str, Field(pattern=STORY_ID, max_length=LONGEST_ID)]
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Count = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A part of a file; what we do not know survives."""

    model_config = ConfigDict(extra="allow")


class LastFailure(Part):
    """Why it has halted; set by Ralph."""

    task_id: str
    task_title: str
    error_message: str
    failed_at: str
    log_file: str = ""


class State(Part):
    """.ralph/state.json."""

    version: Literal["1.0"]
    created_at: Text
    updated_at: str
    phase: PhaseName
    original_request: Text
    task_order: list[TaskId]
    task_statuses: dict[str, Status]
    last_failure: LastFailure | None
    summary: str = Field(default="", description="What it is about, for every agent that does a part of it.")
    started_at: str | None = Field(default=None, description="Set by Ralph: when the first task was begun.")
    branch: Annotated[str, Field(pattern=BRANCH, max_length=LONGEST_BRANCH)] | None = Field(
        default=None, description="Set by Ralph: where the plan lives once tasks are done side by side."
    )
    learnings: list[str] = Field(default=[], description="Set by Ralph: what agents learned on the way.")


class Gate(Part):
    name: str
    command: str
    passed: bool
    required: bool = True
    seconds: float = 0.0
    in_place: bool = Field(default=False, description="Set by Ralph: it ran where the agent worked.")


class Result(Part):
    """Set by Ralph when a task has passed."""

    completed_at: str
    commit: str
    summary: str = ""
    gates: list[Gate] = []


class Used(Part):
    """What the agent's calls used; null: nobody said, and that is not 0."""

    calls: Count = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    unpriced: Count = Field(default=0, description="Calls whose cost nobody knows.")
    estimated: Count = Field(default=0, description="Calls whose cost was worked out from their tokens.")
    model: str = ""


class TaskFile(Part):
    """.ralph/tasks/task-NNN.json; its status is in state.json."""

    id: TaskId
    title: Text
    description: str = ""
    acceptance_criteria: list[str] = []
    dependencies: list[str] = []
    retries: Count = Field(default=0, description="Set by Ralph: attempts that failed.")
    attempts: Count = Field(default=0, description="Set by Ralph: attempts that were made.")
    notes: str = Field(default="", description="Set by Ralph: why it has not passed.")
    tried: list[str] = Field(default=[], description="Set by Ralph: what earlier attempts did and came to.")
    review_rounds: Count = Field(default=0, description="Set by Ralph: how often a review sent it back.")
    findings: list[FindingEntry] = Field(default=[], description="Set by Ralph: what its last review found.")
    base_commit: str = Field(default="", description="Set by Ralph: where its work began.")
    seconds: Annotated[float, Field(ge=0)] = Field(default=0.0, description="Set by Ralph.")
    usage: Used = Field(default_factory=Used, description="Set by Ralph.")
    result: Result | None = None


def parse(state: bytes, tasks: Mapping[str, bytes], *, name: str) -> tuple[State, dict[str, TaskFile]]:
    """A state and the task files beside it, by their names; or one error with the mistakes of all of them."""
    document = validation.parse_object(state, name=f"{name}/{STATE}")
    _check_version(document, f"{name}/{STATE}")
    checked, mistakes = validation.check(State, state)
    mistakes = [f"{STATE}: {mistake}" for mistake in mistakes]
    files: dict[str, TaskFile] = {}
    entries: list[tuple[str, Json]] = []
    for file, data in sorted(tasks.items()):
        task, wrong = _task(file, data)
        mistakes += wrong
        if task:
            files[file] = task
        entries.append((file, _object(data)))
    mistakes += list(_rules(document, entries))
    if mistakes or checked is None:
        remedy = "`ralph schema request` and `ralph schema request-task` describe every field."
        raise Mistakes(f"The request in {name}", mistakes, remedy)
    return checked, {task.id: task for task in files.values()}


def _task(file: str, data: bytes) -> tuple[TaskFile | None, list[str]]:
    try:
        validation.parse_object(data, name=file)
    except Mistakes as error:
        return None, [f"{TASKS}/{file}: {mistake}" for mistake in error.mistakes]
    task, wrong = validation.check(TaskFile, data)
    return task, [f"{TASKS}/{file}: {mistake}" for mistake in wrong]


def _check_version(document: Json, name: str) -> None:
    version = document.get("version")
    if isinstance(version, str) and version != VERSION:
        raise RalphError(
            f"{name} is of version {version!r}, and this Ralph knows only version {VERSION!r}.",
            remedy="Another Ralph wrote it: `ralph upgrade` says how to get a newer one. The file was left as it is.",
        )


def _rules(state: Json, entries: list[tuple[str, Json]]) -> Iterable[str]:
    """What the shapes alone cannot say; looks only at what has the right shape."""
    yield from task_rules([entry for _, entry in entries], TASKS, "dependencies")
    for file, entry in entries:
        if isinstance(entry.get("id"), str) and f"{entry['id']}.json" != file:
            yield f"{TASKS}/{file}: its id is {entry['id']!r}, which belongs into {TASKS}/{entry['id']}.json"
    listed = state.get("task_order")
    order = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    there = [file.removesuffix(".json") for file, _ in entries]
    for number, name in enumerate(order):
        if name in order[:number]:
            yield f"{STATE}: task_order[{number}]: {name!r} is there twice"
        elif name not in there:
            near = validation.nearest(name, there)
            yield f"{STATE}: task_order[{number}]: there is no file {TASKS}/{name}.json{near}"
    is_planned = state.get("phase") not in [phase.value for phase in UNPLANNED]
    for name in there if is_planned else ():
        if name not in order:
            yield f"{TASKS}/{name}.json: it is not in task_order; add it there, or put the file elsewhere"
    if is_planned and listed == []:
        yield f"{STATE}: task_order: there are no tasks, though the phase is {state.get('phase')!r}"
    statuses = state.get("task_statuses")
    for name in statuses if isinstance(statuses, dict) else ():
        if name not in order:
            yield f"{STATE}: task_statuses: {name!r} is not in task_order{validation.nearest(str(name), order)}"


def _object(data: bytes) -> Json:
    try:
        return validation.parse_object(data, name="")
    except Mistakes:
        return {}


def state_schema() -> str:
    return _schema(State, "state.json")


def task_schema() -> str:
    return _schema(TaskFile, "task-NNN.json")


def _schema(model: type[BaseModel], title: str) -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **model.model_json_schema(), "title": title}, indent=2) + "\n"
