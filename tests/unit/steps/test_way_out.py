"""What an agent asks of a person: which gate it means, and when that counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.attempt import GivenTests, StepResult
from ralph.plan.model import Gate, GateResult, Need, NeedKind
from ralph.plan.work import Verdict
from ralph.steps.way_out import MAX_GATE, MAX_WHY, disputed_tests, judge_dispute, parse_dispute

GATES = tuple(
    Gate(name=name, command=command, timeout=1)
    for name, command in (("lint", "ruff check ."), ("test", "npm test"), ("test-e2e", "npm run e2e"))
)


@pytest.mark.parametrize(
    ("text", "gate", "why"),
    [
        ("lint — it checks other files", "lint", "it checks other files"),
        ("lint - it checks other files", "lint", "it checks other files"),
        ("lint: it checks other files", "lint", "it checks other files"),
        ("`lint` — it checks other files", "lint", "it checks other files"),
        ("LINT – old", "lint", "old"),
        ("lint is about other files", "lint", "is about other files"),
        ("ruff check . — old", "lint", "old"),
        ("`npm test` — old — very old", "test", "old — very old"),
        ("test-e2e — needs a display", "test-e2e", "needs a display"),
        ("test — old", "test", "old"),
        ("tests/test_app.py — asserts the old name", "tests/test_app.py", "asserts the old name"),
        ("type checks — they hang", "type checks", "they hang"),
        ("acceptance tests — it must be 3", "acceptance tests", "it must be 3"),
        ("Acceptance test test_total — it must be 3", "acceptance tests", "Acceptance test test_total — it must be 3"),
        ("the gate is wrong", "", "the gate is wrong"),
        ("lint", "lint", "it gave no reason."),
        ("lint —\x1b]0;x\x07 a\x00b", "lint", "ab"),
    ],
)
def test_the_gate_is_found_by_its_name_or_its_command(text: str, gate: str, why: str) -> None:
    assert parse_dispute(text, GATES) == (gate, why)


@given(st.text())
def test_whatever_an_agent_writes_fits_into_a_line(text: str) -> None:
    gate, why = parse_dispute(text, GATES)
    assert len(gate) <= MAX_GATE and len(why) <= MAX_WHY
    assert all(letter.isprintable() for letter in gate + why)


def result(name: str, *, passed: bool) -> GateResult:
    return GateResult(name=name, command=name, passed=passed, seconds=0, reason="exit code 1", output="error: no")


def said(verdict: Verdict) -> StepResult:
    need = Need(kind=NeedKind.DISPUTE, why="it is old", gate="lint")
    return StepResult(step="agent", verdict=verdict, need=need)


def test_a_dispute_alone_always_counts_and_has_the_gate_s_output() -> None:
    red, green = (result("lint", passed=False),), (result("lint", passed=True),)
    assert "error: no" in judge_dispute(said(Verdict.BLOCKED), red, frozenset({"lint"}))
    assert "is green" in judge_dispute(said(Verdict.BLOCKED), green, frozenset())
    assert "it is old" in judge_dispute(said(Verdict.BLOCKED), (), frozenset())


def test_beside_done_it_counts_only_if_nothing_else_fails() -> None:
    red = (result("lint", passed=False), result("test", passed=False))
    assert judge_dispute(said(Verdict.PASSED), red[:1], frozenset({"lint"}))
    assert not judge_dispute(said(Verdict.PASSED), red, frozenset({"lint", "test"}))
    assert not judge_dispute(said(Verdict.PASSED), red[1:], frozenset({"test"}))
    assert not judge_dispute(said(Verdict.PASSED), (), frozenset())


def test_acceptance_tests_are_disputed_with_the_gates_that_run_them() -> None:
    need = Need(kind=NeedKind.DISPUTE, why="it must be 3", gate=ACCEPTANCE)
    done = StepResult(step="agent", verdict=Verdict.PASSED, need=need)
    tests = GivenTests(commit="c", paths=("tests/test_a.py",), gates=frozenset({"test"}))
    red = (result("lint", passed=False), result("test", passed=False))
    why = judge_dispute(done, red[1:], frozenset({"test"}), tests)
    assert "The agent disputes the acceptance tests: it must be 3" in why and "error: no" in why
    assert not judge_dispute(done, red, frozenset({"lint", "test"}), tests)
    blocked = replace(done, verdict=Verdict.BLOCKED)
    assert disputed_tests((blocked,)) and not disputed_tests((done,))
    assert not disputed_tests((said(Verdict.BLOCKED),)), "that is about a gate"
