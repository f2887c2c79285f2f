"""A reviewer's findings, in the form that every plan and answer shares."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.plan.model import Finding, Severity
from ralph.stores.fields import Choice, Nullable, Number, Part, Text, Value, own
from ralph.stores.task_codec import Codec
from ralph.text import one_line
from ralph.validation import Json

SHORT = Text(min_length=1, max_length=2000, pattern=r"\S")


def _finding(*, file: str, problem: str, remedy: str, **found: Value) -> Finding:
    return Finding(file=one_line(file), problem=one_line(problem), remedy=one_line(remedy), **found)


FINDING = Part(
    "FindingEntry",
    "One problem that a reviewer found.",
    _finding,
    own("severity", Choice(("critical", "major", "minor"), Severity), required=True),
    own("file", Text(max_length=1000), about="The file with the problem; empty: not one file."),
    own("line", Nullable(Number(least=1))),
    own("problem", SHORT, about="The problem, in one or two sentences.", required=True),
    own("remedy", Text(max_length=2000), about="How to fix it."),
)


def finding_entries(findings: Iterable[Finding]) -> list[Json]:
    """Return findings as files and JSON output contain them."""
    return [Codec().write(FINDING, one) for one in findings]
