"""A reviewer's answer, validated before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ralph.frozen import Frozen
from ralph.plan.model import Finding, Severity
from ralph.stores.fields import Choice, ListOf, Part, given
from ralph.stores.findings import FINDING, SHORT
from ralph.stores.task_codec import Codec, Format
from ralph.text import one_line
from ralph.validation import Json

MAX_FINDINGS = 100
SEVERITIES = tuple(severity.value for severity in Severity)


class Answer(Frozen):
    """The file that a reviewer writes."""

    verdict: str
    findings: tuple[Finding, ...]
    summary: str

    @property
    def qualified(self) -> bool:
        return self.verdict == "qualified"

    @property
    def gist(self) -> str:
        """The summary on one line, without a full stop."""
        return one_line(self.summary).rstrip(".")


ANSWER = Format(
    title="review",
    codec=Codec(),
    part=Part(
        "Answer",
        "The file that a reviewer writes.",
        Answer,
        given(
            "verdict",
            Choice(("qualified", "failed")),
            about="qualified: the work is good enough; failed: it must change.",
            required=True,
        ),
        given("findings", ListOf(of=FINDING, max_length=MAX_FINDINGS), required=True),
        given("summary", SHORT, about="A summary of the review, in one or two sentences.", required=True),
    ),
)


def parse(data: bytes, blocking: Iterable[Severity]) -> Answer:
    """Parse a reviewer's answer or raise all of its mistakes; a verdict that contradicts its findings is one."""
    judged = replace(ANSWER, rules=_rules({one.value for one in blocking}))
    return judged.load(data, name="the review")[1]


def _rules(blocking: set[str]) -> Callable[[Json], Iterable[str]]:
    names = [name for name in SEVERITIES if name in blocking]

    def rules(document: Json) -> Iterable[str]:
        listed = document.get("findings")
        if not isinstance(listed, list):
            return
        found = [entry.get("severity") if isinstance(entry, dict) else None for entry in listed]
        worst = next((index for index, severity in enumerate(found) if severity in names), None)
        if document.get("verdict") == "qualified" and worst is not None:
            yield f"verdict: qualified, but findings[{worst}] is {found[worst]}: use failed, or reconsider the severity"
        if document.get("verdict") == "failed" and worst is None:
            yield f"verdict: failed, but no finding is {' or '.join(names)}: name what must change, or use qualified"

    return rules
