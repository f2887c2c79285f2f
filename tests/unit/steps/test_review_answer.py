"""What a reviewer answers is judged before anybody believes it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import Finding, Severity
from ralph.steps import review_answer
from ralph.validation import Mistakes

Json = dict[str, Any]
USUAL = frozenset({Severity.CRITICAL, Severity.MAJOR})
SCHEMA = jsonschema.Draft202012Validator(json.loads(review_answer.ANSWER.schema_text()))
FULL = {"severity": "major", "file": "a.py", "line": 3, "problem": "It is wrong", "remedy": "Mend it"}


def document(*findings: Json, verdict: str = "failed", **more: Any) -> Json:
    return {"verdict": verdict, "findings": list(findings), "summary": "s", **more}


def parsed(content: Json, blocking: frozenset[Severity] = USUAL) -> review_answer.Answer:
    return review_answer.parse(json.dumps(content).encode(), blocking)


def mistakes(content: object, blocking: frozenset[Severity] = USUAL) -> list[str]:
    with pytest.raises(Mistakes) as found:
        review_answer.parse(json.dumps(content).encode(), blocking)
    return found.value.mistakes


def test_a_whole_answer() -> None:
    answer = parsed(document(FULL, {"severity": "minor", "problem": "Short"}))
    assert not answer.qualified
    assert answer.findings == (
        Finding(severity=Severity.MAJOR, file="a.py", line=3, problem="It is wrong", remedy="Mend it"),
        Finding(severity=Severity.MINOR, problem="Short"),
    )
    assert [str(finding) for finding in answer.findings] == ["major a.py:3: It is wrong → Mend it", "minor: Short"]


def test_what_reaches_prompts_and_terminals_is_one_plain_line() -> None:
    answer = parsed(document({**FULL, "problem": "one\n\x1b[31mtwo\n- three", "file": "a\nb.py", "line": None}))
    assert parsed(document(FULL, summary="It\n\x1b[2Jis\tbad. ")).gist == "It is bad"
    assert str(answer.findings[0]) == "major a b.py: one two - three → Mend it"


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ([], "expected an object at the top"),
        ({}, "verdict: missing"),
        (document(FULL, verdict="passed"), "verdict: expected 'qualified' or 'failed'"),
        ({"verdict": "qualified", "summary": "s"}, "findings: missing"),
        ({"verdict": "qualified", "findings": []}, "summary: missing"),
        (document(verdict="qualified", summary=" "), "summary: expected"),
        (document({**FULL, "severity": "huge"}), "findings[0].severity: expected"),
        (document({**FULL, "line": 0}), "findings[0].line: expected"),
        (document({**FULL, "line": "3"}), "findings[0].line: expected"),
        (document({"severity": "major"}), "findings[0].problem: missing"),
        (document("all bad"), "findings[0]: expected"),  # type: ignore[arg-type]  # that is the point
        (document(FULL, verdict="qualified"), "verdict: qualified, but findings[0] is major"),
        (document(), "verdict: failed, but no finding is critical or major"),
        (document({**FULL, "severity": "minor"}), "verdict: failed, but no finding is critical or major"),
    ],
)
def test_mistakes_are_named(content: object, mistake: str) -> None:
    assert any(line.startswith(mistake) for line in mistakes(content)), mistakes(content)


FINDINGS = st.builds(
    lambda severity: {**FULL, "severity": severity},
    st.sampled_from([severity.value for severity in Severity]),
)


@given(
    st.lists(FINDINGS, max_size=4),
    st.sampled_from(["qualified", "failed"]),
    st.frozensets(st.sampled_from(Severity), min_size=1),
)
def test_a_verdict_stands_only_if_the_findings_bear_it_out(
    findings: list[Json], verdict: str, blocking: frozenset[Severity]
) -> None:
    content = document(*findings, verdict=verdict)
    SCHEMA.validate(content)
    blocked = any(Severity(finding["severity"]) in blocking for finding in findings)
    if blocked == (verdict == "failed"):
        assert parsed(content, blocking).qualified is not blocked
    else:
        assert len(mistakes(content, blocking)) == 1


@pytest.mark.parametrize("content", [{}, document({**FULL, "line": 0}), document(FULL, verdict="passed")])
def test_the_published_schema_refuses_what_ralph_refuses(content: Json) -> None:
    assert mistakes(content)
    assert not SCHEMA.is_valid(content)
