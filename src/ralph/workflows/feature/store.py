"""The feature workflow's file: `.ralph/<date>-<feature>/prd.json`, read into a plan and written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralph import validation
from ralph.plan.model import Plan, Task
from ralph.stores import atomic
from ralph.stores.task_codec import render
from ralph.validation import Json
from ralph.workflows.formats import PRD, STORY


class PrdStore:
    """One prd.json: reads it into a plan, writes a plan back, and keeps unknown fields."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.target = target
        self.document: Json = {}
        self._saved: tuple[Task, ...] = ()

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        self.document, plan = PRD.load(data, name=str(self.path))
        self._saved = plan.tasks
        return replace(plan, target=self.target)

    def render(self, plan: Plan) -> bytes:
        """The plan as the file's bytes; only changed fields are written into the document."""
        stories = self.document["userStories"]
        assert isinstance(stories, list), "load has checked"
        for entry, saved, task in zip(stories, self._saved, plan.tasks, strict=True):
            if task is not saved:
                PRD.codec.update(STORY, entry, task)
        self._saved = plan.tasks
        PRD.codec.update(PRD.part, self.document, plan)
        return render(self.document)

    def save(self, plan: Plan) -> None:
        atomic.write(self.path, self.render(plan))
