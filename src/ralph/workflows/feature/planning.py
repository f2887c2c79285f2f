"""Makes a feature's plan: questions, a PRD, its refinement, its prd.json. An agent answers each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from ralph import validation
from ralph.errors import RalphError
from ralph.stores import atomic
from ralph.stores.task_codec import render
from ralph.validation import Json
from ralph.workflows.formats import PRD, STORY
from ralph.workflows.planning import Planner
from ralph.workspace import Feature

STATE_FIELDS = PRD.codec.owned(STORY)
CONTENT_FIELDS = ("title", "description", "acceptanceCriteria", "tags", "dependsOn")
MIN_PRD = 40
T = TypeVar("T")


class Question(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="ignore")

    id: Annotated[str, Field(min_length=1, max_length=60)]
    question: Annotated[str, Field(min_length=1, max_length=1000)]
    options: Annotated[list[str], Field(max_length=10)] = []


class Questions(BaseModel):
    """An agent's questions before it writes a PRD."""

    model_config = ConfigDict(defer_build=True, extra="ignore")

    questions: Annotated[list[Question], Field(max_length=20)]


@dataclass
class PrdMaker:
    """Makes and changes the two files of one feature."""

    planner: Planner
    feature: Feature

    @property
    def root(self) -> Path:
        return self.planner.root

    @property
    def prd_md(self) -> Path:
        return self.root / self.feature.prd_md

    @property
    def prd_json(self) -> Path:
        return self.root / self.feature.prd_json

    async def questions(self, request: str) -> list[Question]:
        def read(data: bytes) -> list[Question]:
            return validation.parse(Questions, data, name="the list of questions").questions

        return await self._ask(
            "prd-questions", "Preparing questions", "prd-create", {"request": request, "answers": ""}, read
        )

    async def draft(self, request: str, answers: str) -> None:
        text = await self._ask(
            "prd-draft", "Writing the PRD", "prd-create", {"request": request, "answers": answers}, _markdown
        )
        atomic.write(self.prd_md, text.encode())

    async def refine(self, request: str) -> None:
        variables = {"prdContent": self._prd(), "request": request}
        text = await self._ask("prd-refine", "Refining the PRD", "prd-refine", variables, _markdown)
        atomic.write(self.prd_md, text.encode())

    async def finalize(self) -> int:
        """Turn prd.md into prd.json. The old file stays until the new one is valid. Returns the number of stories."""
        old = self._existing()
        source = self.prd_md.read_bytes()
        variables = {
            "prdContent": self._prd(),
            "branchName": str(old["branchName"]) if old else f"ralph/{self.feature.name}",
            "existing": _listed(old) if old else "",
        }

        def read(data: bytes) -> Json:
            document = validation.parse_object(data, name="prd.json")
            merged = merge(document, old, branch=str(variables["branchName"]), prd=source)
            PRD.check(to_json(merged), name="prd.json")
            return merged

        document = await self._ask("prd-finalize", "Turning the PRD into stories", "prd-finalize", variables, read)
        atomic.write(self.prd_json, render(document))
        stories = document["userStories"]
        return len(stories) if isinstance(stories, list) else 0

    def matches(self) -> bool:
        """Whether prd.json was made from this prd.md. Without a hash, or without a prd.md, the answer is yes."""
        old = self._existing()
        if not old or not self.prd_md.exists():
            return bool(old)
        return old.get("prdHash", "") in ("", digest(self.prd_md.read_bytes()))

    def _existing(self) -> Json:
        if not self.prd_json.is_file():
            return {}
        data = validation.read(self.prd_json)
        return PRD.load(data, name=str(self.prd_json))[0]

    def _prd(self) -> str:
        """The PRD; if there is only prd.json, its content."""
        if self.prd_md.exists() or not self.prd_json.exists():
            return validation.read(self.prd_md).decode(errors="replace")
        _, plan = PRD.load(validation.read(self.prd_json), name=self.feature.prd_json)
        stories = [
            f"## {one.id}: {one.title}\n\n{one.description}\n\n" + "".join(f"- {text}\n" for text in one.criteria)
            for one in plan
        ]
        return "\n\n".join((f"# {self.feature.name}", plan.description, *stories))

    async def _ask(
        self, work_id: str, title: str, template: str, variables: Mapping[str, object], read: Callable[[bytes], T]
    ) -> T:
        known = {"feature": self.feature.name, "datetime": self.feature.date}
        return await self.planner.ask(work_id, title, template, {**known, **variables}, read)


def merge(document: Json, old: Json, *, branch: str, prd: bytes) -> Json:
    """An agent's stories with Ralph's state: kept for unchanged stories, reset for the others."""
    stories = document.get("userStories")
    known = {story["id"]: story for story in _stories(old)}
    merged = dict(document)
    if isinstance(stories, list):
        merged["userStories"] = [_with_state(story, known) for story in stories]
    merged["schemaVersion"] = 2
    merged["branchName"] = branch
    merged["prdHash"] = digest(prd)
    fresh: Json = {"startedAt": None, "currentStoryId": None, "learnings": []}
    merged["run"] = {**_object(old.get("run")), "currentStoryId": None} if old else fresh
    _object(merged["run"]).pop("verification", None)
    return merged


def _with_state(story: object, known: dict[object, Json]) -> object:
    if not isinstance(story, dict):
        return story
    own = {key: value for key, value in story.items() if key not in STATE_FIELDS}
    story_id = story.get("id")
    before = known.get(story_id) if isinstance(story_id, str) else None
    if before is None:
        return {**own, "passes": False, "retries": 0, "blocked": False, "lastResult": None, "notes": ""}
    if all((own.get(key) or None) == (before.get(key) or None) for key in CONTENT_FIELDS):
        return {**own, **{key: before[key] for key in STATE_FIELDS if key in before}}
    fresh = {"passes": False, "retries": 0, "blocked": False, "lastResult": None, "notes": ""}
    return {**own, **fresh, "attempts": before.get("attempts", 0)}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _listed(old: Json) -> str:
    return "\n".join(f"- {story['id']}: {story['title']}" for story in _stories(old))


def _stories(document: Json) -> list[Json]:
    stories = document.get("userStories", [])
    return stories if isinstance(stories, list) else []


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _markdown(data: bytes) -> str:
    text = data.decode(errors="replace")
    if len(text.strip()) < MIN_PRD or "#" not in text:
        raise RalphError("This is not a PRD in Markdown: it has no headings, or almost no text.")
    return text if text.endswith("\n") else text + "\n"
