"""What agents answer while a request is planned (research, decisions, tasks), and how it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ralph import validation
from ralph.stores.plan_schema import text
from ralph.validation import Json
from ralph.workflows.plan_rules import MAX_ID, STORY_ID

MAX_TASKS, MAX_DECISIONS = 500, 20
TaskId = Annotated[str, Field(pattern=STORY_ID, max_length=MAX_ID)]
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+\S*$", max_length=2000)]


class RequestAnswerPart(BaseModel):
    """A part of a file; unknown fields are kept."""

    model_config = ConfigDict(defer_build=True, extra="allow")


class Source(RequestAnswerPart):
    title: Text
    url: Url


class ResearchFinding(RequestAnswerPart):
    topic: Text
    finding: Text
    sources: list[Url] = Field(default=[], description="The URLs of the sources that support it.")


class Research(RequestAnswerPart):
    """.ralph/research.json."""

    needed: bool = Field(default=True, description="Whether research was needed.")
    reason: str = Field(default="", description="Why no research was needed.")
    summary: str = ""
    findings: list[ResearchFinding] = Field(default=[])
    sources: list[Source] = Field(default=[])


class Option(RequestAnswerPart):
    option: Text
    consequence: Text = Field(description="What follows from this option.")


class Decision(RequestAnswerPart):
    """Something that only a person can decide."""

    id: Annotated[str, Field(pattern=STORY_ID, max_length=60)]
    question: Annotated[str, Field(min_length=1, max_length=1000)]
    options: Annotated[list[Option], Field(min_length=2, max_length=10)]
    recommendation: Text = Field(description="One of the options, word for word.")
    why: str = Field(default="", description="Why it is recommended.")
    answer: str | None = Field(default=None, description="Set by Ralph: an option, or the person's own words.")
    answered_by: Literal["person", "answers", "recommendation"] | None = Field(
        default=None, description="Set by Ralph: in the terminal, by --answers, or by --yes."
    )
    answered_at: str | None = Field(default=None, description="Set by Ralph.")


class Decisions(RequestAnswerPart):
    """.ralph/decisions.json."""

    decisions: Annotated[list[Decision], Field(max_length=MAX_DECISIONS)]


class RequestTaskAnswer(RequestAnswerPart):
    """A task as an agent proposes it."""

    id: TaskId | None = None
    title: Text
    description: str = ""
    acceptance_criteria: list[str] = Field(default=[])
    dependencies: list[str] = Field(default=[])


class PlanProposal(RequestAnswerPart):
    """An agent's answer: the PRD and its tasks."""

    prd: Annotated[str, Field(min_length=40)]
    summary: Text
    tasks: Annotated[list[RequestTaskAnswer], Field(min_length=1, max_length=MAX_TASKS)]


def parse_research(data: bytes, *, needed: bool = False) -> Research:
    """The research, or its mistakes; `needed`: the agent may not answer that no research is needed."""

    def rules(document: Json) -> Iterable[str]:
        if document.get("needed") is False:
            if needed:
                yield "needed: must be true, because the person asked for research"
            return
        for name in ("findings", "sources"):
            if not document.get(name):
                yield f"{name}: must not be empty"
        known = [entry.get("url") for entry in _objects(document.get("sources"))]
        for index, entry in enumerate(_objects(document.get("findings"))):
            named = entry.get("sources")
            for url in named if isinstance(named, list) else ():
                if url not in known:
                    yield f"findings[{index}].sources: {url!r} is not among the sources"

    return validation.parse(Research, data, name="the research", rules=rules)


def parse_decisions(data: bytes, *, name: str = "the list of decisions") -> Decisions:
    return validation.parse(Decisions, data, name=name, rules=_rules)


def parse_proposal(data: bytes) -> PlanProposal:
    def rules(document: Json) -> Iterable[str]:
        prd = document.get("prd")
        if isinstance(prd, str) and "#" not in prd:
            yield "prd: has no headings; write it in Markdown"

    return validation.parse(PlanProposal, data, name="the plan", rules=rules)


def _rules(document: Json) -> Iterable[str]:
    seen: set[str] = set()
    for index, entry in enumerate(_objects(document.get("decisions"))):
        name, options = entry.get("id"), [one.get("option") for one in _objects(entry.get("options"))]
        if isinstance(name, str) and name in seen:
            yield f"decisions[{index}].id: {name!r} is used twice"
        seen.add(str(name))
        if len(options) != len({str(option).casefold() for option in options}):
            yield f"decisions[{index}].options: an option is listed twice"
        if options and isinstance(entry.get("recommendation"), str) and entry["recommendation"] not in options:
            yield f"decisions[{index}].recommendation: {entry['recommendation']!r} is not one of the options"


def _objects(listed: object) -> list[Json]:
    return [item if isinstance(item, dict) else {} for item in listed] if isinstance(listed, list) else []


def research_schema() -> str:
    return text(Research, "research.json")


def decisions_schema() -> str:
    return text(Decisions, "decisions.json")
