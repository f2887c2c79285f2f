"""What implementation.json must be: its schema, and every mistake in a file that is not so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ralph import validation
from ralph.errors import RalphError
from ralph.stores.prd_rules import LONGEST_ID, STORY_ID
from ralph.stores.review import FindingEntry
from ralph.validation import Json
from ralph.workspace import SPECS_PLAN, is_inside

VERSION = 1
Status = Literal["pending", "in_progress", "completed", "blocked"]
Name = Annotated[str, Field(pattern=STORY_ID, max_length=LONGEST_ID)]
Count = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A part of the file; what we do not know survives."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)


class Gate(Part):
    name: str
    command: str
    passed: bool
    required: bool = True
    seconds: float = 0.0
    in_place: bool = Field(default=False, description="Set by Ralph: it ran where the agent worked.")


class Result(Part):
    """Set by Ralph when a task has passed, or a spec is closed."""

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


class TaskEntry(Part):
    """One task for one fresh agent."""

    id: Name
    description: Annotated[str, Field(min_length=1, pattern=r"\S")]
    status: Status = "pending"
    acceptance_criteria: list[str] = []
    covers: list[str] = Field(default=[], description="Tasks of the spec, word for word, that this one does as well.")
    notes: str = Field(default="", description="Set by Ralph: why it has not passed, or why it is blocked.")
    tried: list[str] = Field(default=[], description="Set by Ralph: what earlier attempts did and came to.")
    review_rounds: Count = Field(default=0, description="Set by Ralph: how often a review sent it back.")
    findings: list[FindingEntry] = Field(default=[], description="Set by Ralph: what its last review found.")
    retries: Count = Field(default=0, description="Set by Ralph: attempts that failed.")
    attempts: Count = Field(default=0, description="Set by Ralph: attempts that were made.")
    base_commit: str = Field(default="", description="Set by Ralph: the files its work began with.")
    seconds: Annotated[float, Field(ge=0)] = Field(default=0.0, description="Set by Ralph.")
    usage: Used = Field(default_factory=Used, description="Set by Ralph.")
    result: Result | None = None


class SpecEntry(Part):
    """One spec with its tasks, in their order."""

    id: Name
    file: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1, pattern=r"\S")]
    priority: int = 0
    status: Status = "pending"
    context: str = ""
    tasks: list[TaskEntry] = Field(json_schema_extra={"minItems": 1})
    acceptance_criteria: list[str] = []
    notes: str = Field(default="", description="Set by Ralph.")
    attempts: Count = Field(default=0, description="Set by Ralph: attempts at committing it.")
    failures: Count = Field(default=0, description="Set by Ralph: how many of them failed in a row.")
    result: Result | None = None


class Implementation(Part):
    """The whole file."""

    version: Literal[1]
    updated_at: str = ""
    updated_by: Literal["plan-mode", "build-mode"] = "plan-mode"
    started_at: str | None = Field(default=None, description="Set by Ralph.")
    learnings: list[str] = Field(default=[], description="Set by Ralph: what agents learned on the way.")
    specs: list[SpecEntry]


def parse(data: bytes, *, name: str = SPECS_PLAN) -> Implementation:
    """The file as a model, or an error with all of its mistakes."""
    _check_version(validation.parse_object(data, name=name), name)
    remedy = "`ralph schema implementation` describes every field."
    return validation.parse(Implementation, data, name=name, rules=_rules, remedy=remedy)


def _check_version(document: Json, name: str) -> None:
    version = document.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise RalphError(
            f"{name} is of version {version}, and this Ralph knows only version {VERSION}.",
            remedy="A newer Ralph wrote it: `ralph upgrade` says how to get one. The file was left as it is.",
        )


def schema_text() -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    made = Implementation.model_json_schema(by_alias=True)
    return json.dumps({**head, **made, "title": SPECS_PLAN}, indent=2) + "\n"


def _rules(document: Json) -> Iterable[str]:
    """What the shape alone cannot say; looks only at what has the right shape."""
    if document.get("version") is True:
        yield "version: expected 1, found true"  # to Python the two are equal
    specs = _objects(document.get("specs"))
    tasks = [
        (f"specs[{number}].tasks[{index}]", task)
        for number, spec in enumerate(specs)
        for index, task in enumerate(_objects(spec.get("tasks")))
    ]
    yield from _repeated((f"specs[{number}]", spec) for number, spec in enumerate(specs))
    yield from _repeated(tasks)
    yield from _same_files(specs)
    ids = {str(spec.get("id")) for spec in specs}
    for place, task in tasks:
        if isinstance(task.get("id"), str) and task["id"] in ids:
            yield f"{place}.id: {task['id']!r} is the id of a spec"
    for number, spec in enumerate(specs):
        if spec.get("tasks") == []:
            yield f"specs[{number}].tasks: {spec.get('id')!r} has no tasks; plan it anew with `ralph start plan`"
        file = spec.get("file")
        if isinstance(file, str) and not is_inside(file):
            yield f"specs[{number}].file: {file!r} does not lie inside the project"


def _same_files(specs: list[Json]) -> Iterator[str]:
    first: dict[str, int] = {}
    for number, spec in enumerate(specs):
        file = spec.get("file")
        if isinstance(file, str) and first.setdefault(file, number) != number:
            yield f"specs[{number}].file: {file!r} is already that of specs[{first[file]}]; join the two"


def _repeated(entries: Iterable[tuple[str, Json]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for place, entry in entries:
        name = entry.get("id")
        if isinstance(name, str):
            if name in first:
                yield f"{place}.id: {name!r} is already {first[name]}"
            if name.endswith(".lock"):
                yield f"{place}.id: {name!r} is a reserved name"
            first.setdefault(name, place)


def _objects(listed: object) -> list[Json]:
    return [item if isinstance(item, dict) else {} for item in listed] if isinstance(listed, list) else []
