"""What a receipt says: the published field names of in-toto, and nothing that is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult
from ralph.plan.usage import Usage
from ralph.receipts.statement import (
    ATTEMPT,
    STATE,
    SUMMARY,
    TEST_RESULT,
    AttemptFacts,
    Subject,
    TestNames,
    WorkFacts,
    sha256,
    state_payload,
    work_payloads,
)

SUBJECT = Subject(branch="ralph/auth", commit="c" * 40, tree="d" * 40)
GREEN = GateResult(name="test", command="npm test", passed=True, seconds=1.23456)
WARNED = GateResult(name="lint", command="npm run lint", passed=False, required=False, seconds=0.5)
USED = Usage(input_tokens=10, output_tokens=5, cost_usd=0.25, calls=2, estimated=2, model="opus")
ATTEMPTED = AttemptFacts(
    work="US-001",
    kind="task",
    number=2,
    run="r1",
    agent="claude",
    model="opus",
    prompt="ab" * 32,
    usage=USED,
    evidence=Evidence.REGRESSION_ONLY,
    proven_by=("test_login",),
    concerns=("test_a.py: the test test_old is gone",),
    base="b" * 40,
    ref="refs/ralph/attempts/auth/US-001/2",
    journal=("ef" * 32, 1234),
)
FACTS = WorkFacts(
    gates=(GREEN, WARNED),
    attempts=(ATTEMPTED,),
    policies={"ralph.config.json": b"{}", "protect": b"tests/**"},
    at="2026-01-01T00:00:00Z",
    ralph="1.0",
)


def statements(facts: WorkFacts = FACTS) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in work_payloads(SUBJECT, facts)]


def of_kind(kind: str, facts: WorkFacts = FACTS) -> list[dict[str, Any]]:
    return [one["predicate"] for one in statements(facts) if one["predicateType"] == kind]


def test_every_statement_is_about_the_commit_and_its_tree() -> None:
    for one in statements():
        assert set(one) == {"_type", "subject", "predicateType", "predicate"}
        assert one["_type"] == "https://in-toto.io/Statement/v1"
        assert one["subject"] == [{"name": "ralph/auth", "digest": {"gitCommit": "c" * 40, "gitTree": "d" * 40}}]


def test_each_gate_is_a_test_result_with_the_published_fields() -> None:
    assert TEST_RESULT == "https://in-toto.io/attestation/test-result/v0.1"
    passed, warned = of_kind(TEST_RESULT)
    assert passed["result"] == "PASSED"
    assert warned["result"] == "WARNED", "an optional gate that failed"
    [configuration] = passed["configuration"]
    assert configuration["name"] == "test"
    assert configuration["digest"] == {"sha256": sha256(b"npm test")}
    assert configuration["annotations"] == {"command": "npm test", "required": True, "seconds": 1.235, "inPlace": False}


def test_tests_are_listed_by_name_if_the_gate_has_a_report() -> None:
    counted = replace(WARNED, tests="2 passed, 1 failed")
    names = {"lint": TestNames(passed="a\nb", failed="c")}
    passed, warned = of_kind(TEST_RESULT, replace(FACTS, gates=(GREEN, counted), tests=names))
    assert "passedTests" not in passed
    assert (warned["passedTests"], warned["failedTests"]) == (["a", "b"], ["c"])
    assert warned["configuration"][0]["annotations"]["tests"] == "2 passed, 1 failed"


def test_the_summary_has_the_published_fields_and_names_every_other_statement() -> None:
    assert SUMMARY == "https://in-toto.io/attestation/svr/v0.2"
    [summary] = of_kind(SUMMARY)
    assert summary["timeCreated"] == "2026-01-01T00:00:00Z"
    assert summary["verifier"]["id"].startswith("urn:")
    assert {one["name"]: one["digest"]["sha256"] for one in summary["verifier"]["policies"]} == {
        "ralph.config.json": sha256(b"{}"),
        "protect": sha256(b"tests/**"),
    }
    *others, _ = work_payloads(SUBJECT, FACTS)
    assert [one["digest"]["sha256"] for one in summary["inputAttestations"]] == [sha256(one) for one in others]


def test_the_attempt_says_who_worked_and_what_it_cost() -> None:
    [attempt] = of_kind(ATTEMPT)
    assert attempt == {
        "work": "US-001",
        "kind": "task",
        "attempt": 2,
        "run": "r1",
        "agent": "claude",
        "model": "opus",
        "prompt": {"sha256": "ab" * 32},
        "tokens": {"input": 10, "output": 5},
        "cost": {"usd": 0.25, "source": "estimated"},
        "evidence": "regression-only",
        "provenBy": ["test_login"],
        "concerns": ["test_a.py: the test test_old is gone"],
        "base": {"gitCommit": "b" * 40},
        "ref": "refs/ralph/attempts/auth/US-001/2",
        "journal": {"sha256": "ef" * 32, "bytes": 1234},
    }


def test_what_is_not_known_is_left_out_and_never_zero() -> None:
    bare = AttemptFacts(work="US-001", kind="task", usage=Usage(calls=1, unpriced=1))
    [attempt] = of_kind(ATTEMPT, replace(FACTS, attempts=(bare,)))
    assert attempt == {"work": "US-001", "kind": "task", "cost": {"source": "unknown"}, "evidence": "unverified"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"RALPH_GATES_PASSED", "RALPH_CLEAN_CHECKOUT"}),
        ({"gates": ()}, set()),
        ({"gates": (WARNED,)}, set()),
        ({"gates": (replace(GREEN, in_place=True),)}, {"RALPH_GATES_PASSED"}),
        ({"gates": (replace(GREEN, passed=False),)}, set()),
        ({"reverified": True}, {"RALPH_GATES_PASSED", "RALPH_CLEAN_CHECKOUT", "RALPH_REVERIFIED_AFTER_MERGE"}),
        ({"reverified": True, "gates": ()}, set()),
        ({"protected_unchanged": True, "gates": ()}, {"RALPH_PROTECTED_UNCHANGED"}),
        (
            {"reviewed": True, "reviewed_by_other": True, "gates": ()},
            {"RALPH_REVIEWED", "RALPH_REVIEWED_BY_OTHER_MODEL"},
        ),
        (
            {"attempts": (replace(ATTEMPTED, evidence=Evidence.PROVEN),)},
            {"RALPH_GATES_PASSED", "RALPH_CLEAN_CHECKOUT", "RALPH_RED_TO_GREEN"},
        ),
        (
            {"attempts": (replace(ATTEMPTED, evidence=Evidence.PROVEN), ATTEMPTED)},
            {"RALPH_GATES_PASSED", "RALPH_CLEAN_CHECKOUT"},
        ),
    ],
)
def test_a_property_is_claimed_only_if_it_holds(change: dict[str, Any], expected: set[str]) -> None:
    [summary] = of_kind(SUMMARY, replace(FACTS, **change))
    assert set(summary["properties"]) == expected


def test_a_state_commit_names_the_commit_with_the_same_code() -> None:
    base = Subject(branch="ralph/auth", commit="a" * 40, tree="e" * 40)
    made = json.loads(state_payload(SUBJECT, base=base, paths=["b", "a"], at="2026-01-01T00:00:00Z"))
    assert made["predicateType"] == STATE
    assert made["predicate"]["base"] == {"gitCommit": "a" * 40, "gitTree": "e" * 40}
    assert made["predicate"]["paths"] == ["a", "b"]
