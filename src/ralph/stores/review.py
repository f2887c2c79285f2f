"""What a reviewer answers, judged before anybody believes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ralph import validation
from ralph.plan.model import Finding, Severity
from ralph.stores.findings import LONGEST_FILE, LONGEST_TEXT
from ralph.validation import Json

MOST_FINDINGS = 100
SEVERITIES = tuple(severity.value for severity in Severity)
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=r"\S")]


class FindingEntry(BaseModel):
    """One thing that a reviewer found."""

    model_config = ConfigDict(extra="allow", frozen=True)

    severity: Literal["critical", "major", "minor"]
    file: Annotated[str, Field(max_length=LONGEST_FILE)] = Field(default="", description="Where; empty: no one file.")
    line: Annotated[int, Field(ge=1)] | None = None
    problem: Text = Field(description="What is wrong, in a sentence or two.")
    remedy: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field(default="", description="What would put it right.")

    @property
    def finding(self) -> Finding:
        return Finding(
            severity=Severity(self.severity),
            file=_plain(self.file),
            line=self.line,
            problem=_plain(self.problem),
            remedy=_plain(self.remedy),
        )


class Answer(BaseModel):
    """The file that a reviewer writes."""

    model_config = ConfigDict(extra="allow", frozen=True)

    verdict: Literal["qualified", "failed"] = Field(description="Whether the work can stay as it is.")
    findings: Annotated[list[FindingEntry], Field(max_length=MOST_FINDINGS)]
    summary: Text = Field(description="The review in a sentence or two.")

    @property
    def qualified(self) -> bool:
        return self.verdict == "qualified"

    @property
    def gist(self) -> str:
        """The summary in one plain line, without a full stop."""
        return _plain(self.summary).rstrip(".")

    @property
    def found(self) -> tuple[Finding, ...]:
        return tuple(entry.finding for entry in self.findings)


def parse(data: bytes, blocking: Iterable[Severity]) -> Answer:
    """A reviewer's answer, or all of its mistakes; a verdict that its own findings contradict is one of them."""
    return validation.parse(Answer, data, name="the review", rules=_rules({one.value for one in blocking}))


def _rules(blocking: set[str]) -> Callable[[Json], Iterable[str]]:
    names = [name for name in SEVERITIES if name in blocking]

    def rules(document: Json) -> Iterable[str]:
        listed = document.get("findings")
        if not isinstance(listed, list):
            return
        found = [entry.get("severity") if isinstance(entry, dict) else None for entry in listed]
        worst = next((index for index, severity in enumerate(found) if severity in names), None)
        if document.get("verdict") == "qualified" and worst is not None:
            yield f"verdict: qualified, but findings[{worst}] is {found[worst]}: say failed, or judge it again"
        if document.get("verdict") == "failed" and worst is None:
            yield f"verdict: failed, but no finding is {' or '.join(names)}: name what has to change, or say qualified"

    return rules


def _plain(text: str) -> str:
    """In one line, and without what a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def schema_text() -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **Answer.model_json_schema(), "title": "review"}, indent=2) + "\n"
