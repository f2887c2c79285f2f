"""What the requirements workflow's prd.json must be: its schema, and every mistake in a file that is not so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ralph import validation
from ralph.stores.prd_rules import LONGEST_ID, STORY_ID, task_rules
from ralph.stores.review import FindingEntry
from ralph.validation import Json
from ralph.workspace import is_inside


class Part(BaseModel):
    """A part of the file; what we do not know survives."""

    model_config = ConfigDict(extra="allow")


class Gate(Part):
    name: str
    command: str
    passed: bool
    seconds: float = 0.0
    in_place: bool = Field(default=False, description="Set by Ralph: it ran where the agent worked.")


class Result(Part):
    """Set by Ralph when a task is done."""

    completed_at: str
    commit: str
    summary: str
    verify: list[Gate] = []


class Task(Part):
    """One task for one fresh agent."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=LONGEST_ID)]
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    acceptance_criteria: list[str] = []
    depends_on: list[str] = []
    status: Literal["todo", "in_progress", "done", "failed"] = "todo"
    notes: str = Field(default="", description="Why it is not done yet.")
    tried: list[str] = Field(default=[], description="Set by Ralph: what earlier loops did and came to.")
    review_rounds: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Set by Ralph: how often a review sent it back."
    )
    findings: list[FindingEntry] = Field(default=[], description="Set by Ralph: what its last review found.")
    loops: Annotated[int, Field(ge=0)] = Field(default=0, description="Set by Ralph: loops that did not finish it.")
    idle_loops: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Set by Ralph: loops in a row that changed nothing."
    )
    attempts: Annotated[int, Field(ge=0)] = Field(default=0, description="Set by Ralph.")
    base_commit: str = Field(default="", description="Set by Ralph: where the task's work began.")
    result: Result | None = None


class Setup(Part):
    """How the steps that run once have fared; set by Ralph."""

    attempts: Annotated[int, Field(ge=0)] = 0
    failures: Annotated[int, Field(ge=0)] = 0
    notes: str = ""


class Tasks(Part):
    """The whole file."""

    version: Literal[1]
    project: str = ""
    app: str = Field(default="", description="The application's folder below the project's root; empty: the root.")
    description: str = ""
    started_at: str | None = None
    setup: Setup = Field(default_factory=Setup)
    tasks: Annotated[list[Task], Field(min_length=1)]


class NewTask(Part):
    """A task as an agent proposes it."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=LONGEST_ID)] | None = None
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    acceptance_criteria: list[str] = []
    depends_on: list[str] = []


class Proposal(Part):
    """An agent's answer: the tasks it proposes."""

    project: str = ""
    description: str = ""
    tasks: Annotated[list[NewTask], Field(min_length=1, max_length=500)]


def parse(data: bytes, *, name: str) -> Tasks:
    """The file as a model, or an error with all of its mistakes."""
    return validation.parse(Tasks, data, name=name, rules=_rules, remedy="`ralph schema tasks` describes every field.")


def parse_proposal(data: bytes) -> Proposal:
    return validation.parse(Proposal, data, name="the tasks")


def schema_text() -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **Tasks.model_json_schema(), "title": "prd.json (requirements)"}, indent=2) + "\n"


def _rules(document: Json) -> Iterable[str]:
    yield from task_rules(document.get("tasks"), "tasks", "depends_on")
    app = document.get("app")
    if isinstance(app, str) and not is_inside(app):
        yield f"app: {app!r} does not lie inside the project"
