"""What prd.json must be: its schema, and every mistake in a file that is not so."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ralph import validation
from ralph.stores.prd_rules import BRANCH, LONGEST_BRANCH, LONGEST_ID, STORY_ID, broken_rules
from ralph.stores.review import FindingEntry


class Part(BaseModel):
    """A part of the file; what we do not know survives."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)


class VerifyResult(Part):
    name: str
    command: str
    passed: bool
    seconds: float = 0.0
    in_place: bool = Field(default=False, description="Set by Ralph: it ran where the agent worked.")


class LastResult(Part):
    """Set by Ralph when a story passes."""

    completed_at: str
    commit: str
    summary: str
    verify: list[VerifyResult] = []


class Story(Part):
    """One story: a task for one fresh agent."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=LONGEST_ID)]
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
    tried: list[str] = Field(default=[], description="Set by Ralph: what earlier attempts did and came to.")
    review_rounds: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Set by Ralph: how often a review sent it back."
    )
    findings: list[FindingEntry] = Field(default=[], description="Set by Ralph: what its last review found.")
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
    branch_name: Annotated[str, Field(pattern=BRANCH, max_length=LONGEST_BRANCH)]
    description: str = ""
    prd_hash: str = Field(default="", description="Which prd.md this was made from; set by Ralph.")
    run: Run = Field(default_factory=Run)
    user_stories: Annotated[list[Story], Field(min_length=1)]


def parse(data: bytes, *, name: str) -> Prd:
    """The file as a model, or an error with all of its mistakes."""
    return validation.parse(
        Prd, data, name=name, rules=broken_rules, remedy="`ralph schema prd` describes every field."
    )


def schema_text() -> str:
    made = Prd.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **made, "title": "prd.json"}, indent=2) + "\n"
