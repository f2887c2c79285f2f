"""What shows that work does what it should: red without it, green with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ralph.engine.evidence import MAX_NAMES, proven_by
from ralph.plan.model import GateResult


def gate(name: str, passed: bool = True, required: bool = True, report: Path | None = None) -> GateResult:
    kept = str(report) if report else ""
    return GateResult(name=name, command=name, passed=passed, seconds=0.1, required=required, report=kept)


def kept(folder: Path, name: str, **tests: list[str]) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"passed": [], "failed": [], "skipped": [], **tests}))
    return path


def test_a_required_gate_that_was_red_and_is_green_is_the_proof() -> None:
    assert proven_by((gate("a"), gate("b")), (gate("a"), gate("b", passed=False))) == ("b",)


def test_nothing_is_proven_by_what_was_green_or_is_red_or_is_optional() -> None:
    assert proven_by((gate("a"),), (gate("a"),)) == ()
    assert proven_by((gate("a", passed=False),), (gate("a", passed=False),)) == ()
    assert proven_by((gate("a", required=False),), (gate("a", passed=False, required=False),)) == ()
    assert proven_by((gate("a"),), ()) == ()


def test_that_there_was_no_test_before_proves_nothing(tmp_path: Path) -> None:
    work = gate("t", report=kept(tmp_path, "work", passed=["inline"]))
    empty = replace(gate("t", passed=False, report=kept(tmp_path, "empty")), code=0)
    assert proven_by((work,), (empty,)) == ()
    assert proven_by((work,), (replace(empty, code=1),)) == ("inline",), "the tests could not run"


def test_with_reports_the_tests_are_named_that_failed_without_the_work(tmp_path: Path) -> None:
    work = gate("t", report=kept(tmp_path, "work", passed=["old", "new", "inside"]))
    without = gate("t", passed=False, report=kept(tmp_path, "without", passed=["old"], failed=["new"]))
    assert proven_by((work,), (without,)) == ("inside", "new")


def test_a_test_that_could_not_run_without_the_work_is_no_proof_if_it_passed_before(tmp_path: Path) -> None:
    work = gate("t", report=kept(tmp_path, "work", passed=["old", "new"]))
    without = gate("t", passed=False, report=kept(tmp_path, "without", failed=["collection"]))
    base = gate("t", report=kept(tmp_path, "base", passed=["old"]))
    assert proven_by((work,), (without,), (base,)) == ("new",)


def test_a_changed_test_counts_if_it_failed_without_the_work(tmp_path: Path) -> None:
    work = gate("t", report=kept(tmp_path, "work", passed=["changed"]))
    without = gate("t", passed=False, report=kept(tmp_path, "without", failed=["changed"]))
    base = gate("t", report=kept(tmp_path, "base", passed=["changed"]))
    assert proven_by((work,), (without,), (base,)) == ("changed",)


def test_a_gate_that_names_no_test_is_named_itself(tmp_path: Path) -> None:
    work = gate("t", report=kept(tmp_path, "work", passed=["old"]))
    without = gate("t", passed=False, report=kept(tmp_path, "without", passed=["old"]))
    assert proven_by((work,), (without,)) == ("t",)


def test_many_names_are_counted(tmp_path: Path) -> None:
    names = [f"test {number:03}" for number in range(MAX_NAMES + 5)]
    work = gate("t", report=kept(tmp_path, "work", passed=names))
    found = proven_by((work,), (gate("t", passed=False),))
    assert found == (*names[:MAX_NAMES], "and 5 more")
