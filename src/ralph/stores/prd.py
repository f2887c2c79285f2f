"""The feature workflow's file: `.ralph/<date>-<feature>/prd.json`, schema version 2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from ralph import validation
from ralph.plan.model import GateResult, Plan, Result, Review, Task, TaskState
from ralph.plan.select import cycle
from ralph.stores import atomic
from ralph.validation import Json

STORY_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
BRANCH = r"^[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$"


class Part(BaseModel):
    """A part of the file; what we do not know survives."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)


class VerifyResult(Part):
    name: str
    command: str
    passed: bool
    seconds: float = 0.0


class LastResult(Part):
    """Set by Ralph when a story passes."""

    completed_at: str
    commit: str
    summary: str
    verify: list[VerifyResult] = []


class Story(Part):
    """One story: a task for one fresh agent."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=80)]
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    acceptance_criteria: list[str] = []
    tags: list[str] = []
    priority: int = 0
    depends_on: list[str] = []
    passes: bool = False
    retries: Annotated[int, Field(ge=0)] = 0
    blocked: bool = False
    last_result: LastResult | None = None
    notes: str = ""
    attempts: Annotated[int, Field(ge=0)] = Field(default=0, description="Set by Ralph.")
    base_commit: str = Field(default="", description="Set by Ralph: where the story's work began.")


class Verification(Part):
    """How the final verification stands; set by Ralph."""

    attempts: Annotated[int, Field(ge=0)] = 0
    failures: Annotated[int, Field(ge=0)] = 0
    notes: str = ""
    verified_at: str = ""
    verified_commit: str = ""


class Run(Part):
    started_at: str | None = None
    current_story_id: str | None = None
    learnings: list[str] = []
    verification: Verification = Field(default_factory=Verification)


class Prd(Part):
    """The whole file."""

    schema_version: Literal[2]
    project: str = ""
    branch_name: Annotated[str, Field(pattern=BRANCH, max_length=200)]
    description: str = ""
    prd_hash: str = Field(default="", description="Which prd.md this was made from; set by Ralph.")
    run: Run = Field(default_factory=Run)
    user_stories: Annotated[list[Story], Field(min_length=1)]


class PrdStore:
    """One prd.json: reads it into a plan, writes a plan back, keeps all it does not know."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.target = target
        self._document: Json = {}
        self._saved: tuple[Task, ...] = ()

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        self._document = validation.parse_object(data, name=str(self.path))
        plan = to_plan(parse(data, name=str(self.path)), self.target)
        self._saved = plan.tasks
        return plan

    @property
    def document(self) -> Json:
        return self._document

    def render(self, plan: Plan) -> bytes:
        """The plan as the file's bytes; only what changed is written into the document."""
        stories = self._document["userStories"]
        assert isinstance(stories, list), "load has checked"
        for position, task in enumerate(plan.tasks):
            if task is not self._saved[position]:
                stories[position].update(_story(task))
        self._saved = plan.tasks
        run = self._document.setdefault("run", {})
        assert isinstance(run, dict), "load has checked"
        run.update(_run(plan))
        return to_json(self._document, indent=2) + b"\n"

    def save(self, plan: Plan) -> bytes:
        data = self.render(plan)
        atomic.write(self.path, data)
        return data


def parse(data: bytes, *, name: str) -> Prd:
    return validation.parse(Prd, data, name=name, rules=_rules, remedy="`ralph schema prd` describes every field.")


def schema_text() -> str:
    made = Prd.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **made, "title": "prd.json"}, indent=2) + "\n"


def to_plan(prd: Prd, target: str) -> Plan:
    run = prd.run
    return Plan(
        target=target,
        branch=prd.branch_name,
        description=prd.description,
        tasks=tuple(_task(story) for story in prd.user_stories),
        current=run.current_story_id,
        started_at=run.started_at or "",
        learnings=tuple(run.learnings),
        review=Review(
            attempts=run.verification.attempts,
            failures=run.verification.failures,
            notes=run.verification.notes,
            verified_at=run.verification.verified_at,
            verified_commit=run.verification.verified_commit,
        ),
    )


def _task(story: Story) -> Task:
    state = TaskState.PASSED if story.passes else TaskState.BLOCKED if story.blocked else TaskState.PENDING
    return Task(
        id=story.id,
        title=story.title,
        description=story.description,
        criteria=tuple(story.acceptance_criteria),
        tags=frozenset(story.tags),
        priority=story.priority,
        depends_on=tuple(story.depends_on),
        state=state,
        failures=story.retries,
        attempts=story.attempts,
        base=story.base_commit,
        notes=story.notes,
        result=_result(story.last_result),
    )


def _result(last: LastResult | None) -> Result | None:
    if last is None:
        return None
    gates = tuple(
        GateResult(name=gate.name, command=gate.command, passed=gate.passed, seconds=gate.seconds)
        for gate in last.verify
    )
    return Result(completed_at=last.completed_at, commit=last.commit, summary=last.summary, gates=gates)


def _story(task: Task) -> Json:
    """What Ralph owns of a story."""
    return {
        "passes": task.state is TaskState.PASSED,
        "retries": task.failures,
        "blocked": task.state is TaskState.BLOCKED,
        "lastResult": _last_result(task.result),
        "notes": task.notes,
        "attempts": task.attempts,
        "baseCommit": task.base,
    }


def _last_result(result: Result | None) -> Json | None:
    if result is None:
        return None
    return {
        "completedAt": result.completed_at,
        "commit": result.commit,
        "summary": result.summary,
        "verify": [
            {"name": g.name, "command": g.command, "passed": g.passed, "seconds": round(g.seconds, 3)}
            for g in result.gates
        ],
    }


def _run(plan: Plan) -> Json:
    review = plan.review
    run: Json = {
        "startedAt": plan.started_at or None,
        "currentStoryId": plan.current,
        "learnings": list(plan.learnings),
    }
    if review != Review():
        run["verification"] = {
            "attempts": review.attempts,
            "failures": review.failures,
            "notes": review.notes,
            "verifiedAt": review.verified_at,
            "verifiedCommit": review.verified_commit,
        }
    return run


def _rules(document: Json) -> Iterable[str]:
    """What the shape alone cannot say; looks only at what has the right shape."""
    stories = document.get("userStories")
    stories = [s if isinstance(s, dict) else {} for s in stories] if isinstance(stories, list) else []
    first: dict[str, int] = {}
    for index, story in enumerate(stories):
        story_id = story.get("id")
        if isinstance(story_id, str):
            if story_id in first:
                yield f"userStories[{index}].id: {story_id!r} is already userStories[{first[story_id]}]"
            first.setdefault(story_id, index)
            if story_id.endswith(".lock") or story_id == "final":
                yield f"userStories[{index}].id: {story_id!r} is a reserved name"
        if story.get("passes") is True and story.get("blocked") is True:
            yield f"userStories[{index}]: passes and blocked are both true"
    yield from _dependency_rules(stories, first)
    run = document.get("run")
    current = run.get("currentStoryId") if isinstance(run, dict) else None
    if isinstance(current, str) and current not in first:
        yield f"run.currentStoryId: there is no story {current!r}{validation.nearest(current, first)}"
    branch = document.get("branchName")
    if isinstance(branch, str) and re.search(r"\.lock(/|$)", branch):
        yield "branchName: git does not allow names that end in .lock"


def _dependency_rules(stories: list[Json], known: dict[str, int]) -> Iterable[str]:
    graph: dict[str, tuple[str, ...]] = {}
    for index, story in enumerate(stories):
        wanted = story.get("dependsOn")
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        for name in names:
            if name not in known:
                yield f"userStories[{index}].dependsOn: no story {name!r}{validation.nearest(name, known)}"
        graph[str(story.get("id"))] = names
    found = cycle(graph)
    if found:
        yield f"userStories: dependencies run in a circle: {' → '.join(found)}"
