"""An agent's answer with the requirements workflow's tasks."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ralph import validation
from ralph.workflows.plan_rules import MAX_ID, STORY_ID


class TasksAnswerPart(BaseModel):
    """A part of the answer; extra fields are allowed."""

    model_config = ConfigDict(defer_build=True, extra="allow")


class NewTaskEntry(TasksAnswerPart):
    """A task as an agent proposes it."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=MAX_ID)] | None = None
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    acceptance_criteria: list[str] = []
    depends_on: list[str] | None = None


class TasksProposal(TasksAnswerPart):
    """An agent's answer: the tasks it proposes."""

    project: str = ""
    description: str = ""
    tasks: Annotated[list[NewTaskEntry], Field(min_length=1, max_length=500)]


def parse_proposal(data: bytes) -> TasksProposal:
    return validation.parse(TasksProposal, data, name="the list of tasks")
