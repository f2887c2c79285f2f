"""The record of an attempt under way: what was written is what is read, and half a file is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import Finding, GateResult, Severity
from ralph.plan.work import Usage, Verdict, WorkKind
from ralph.stores import records

FULL = Record(
    run="r1",
    target="auth",
    kind=WorkKind.REVIEW,
    work="final",
    number=2,
    base="abc",
    branch="ralph/auth",
    began=12.5,
    steps=(
        StepResult(
            step="verify",
            verdict=Verdict.FAILED,
            gates=(GateResult(name="t", command="make", passed=False, seconds=1.25, code=2, output="bad"),),
        ),
        StepResult(
            step="agent",
            verdict=Verdict.LIMITED,
            claims=frozenset({"RESET", "REASON"}),
            reset=("US-1",),
            usage=Usage(calls=1, cost_usd=0.0, input_tokens=None),
            retry_at=99.0,
            fatal=True,
        ),
        StepResult(
            step="review",
            verdict=Verdict.REOPENED,
            findings=(Finding(severity=Severity.MAJOR, file="a.py", line=3, problem="p", remedy="r"),),
        ),
        StepResult(step="look", verdict=Verdict.PASSED, findings=()),
    ),
)


def test_an_attempt_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    records.save(tmp_path, FULL)
    assert records.load(tmp_path, "auth") == [FULL]
    assert records.load(tmp_path) == [FULL]


def test_an_attempt_that_was_settled_is_gone(tmp_path: Path) -> None:
    records.save(tmp_path, FULL)
    records.remove(tmp_path, FULL)
    records.remove(tmp_path, FULL)
    assert records.load(tmp_path, "auth") == []
    assert records.load(tmp_path) == []


def test_half_a_record_is_no_record(tmp_path: Path) -> None:
    records.save(tmp_path, FULL)
    path = tmp_path / "auth" / f"{FULL.work}.{FULL.number}{records.SUFFIX}"
    path.write_bytes(path.read_bytes()[:-20])
    assert records.load(tmp_path, "auth") == []


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data.replace(b'"base":"abc"', b'"base":"abd"'),
        lambda data: data.rsplit(records.SEAL, 1)[0] + b"}",
        lambda data: data.rsplit(records.SEAL, 1)[0] + records.SEAL + b"0" * 64 + records.END,
    ],
    ids=["another base", "no seal", "another seal"],
)
def test_a_record_that_ralph_did_not_write_counts_as_none(tmp_path: Path, forge: Callable[[bytes], bytes]) -> None:
    path = records.save(tmp_path, FULL)
    data = path.read_bytes()
    assert forge(data) != data
    path.write_bytes(forge(data))
    assert records.load(tmp_path, "auth") == []
    assert records.discard_forged(tmp_path, "auth") == [path.name]
    assert not path.exists()


def test_a_record_grows_by_one_step_at_a_time() -> None:
    grown = FULL.add(StepResult(step="git-commit", verdict=Verdict.PASSED))
    assert [result.step for result in grown.steps] == ["verify", "agent", "review", "look", "git-commit"]
    assert grown.result_of("agent") is FULL.steps[1]
    assert FULL.result_of("git-commit") is None


def test_names_that_are_no_text_can_be_written_down(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.txt")
    result = StepResult(step="agent", verdict=Verdict.FAILED, reason=f"it took {odd}", summary=odd, touched=(odd,))
    record = replace(FULL, steps=()).add(result)
    records.save(tmp_path, record)
    assert records.load(tmp_path, record.target) == [record]
    step, shown = record.steps[0], "caf\\udce9.txt"
    assert (step.touched, step.summary, step.reason) == ((shown,), shown, f"it took {shown}"), "by one rule"
