"""Acceptance tests must fail without the work: what shows that they do, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.plan.model import GateResult
from ralph.verify.red_check import MAX_NAMES, RedCheck, compare


def gate(name: str = "t", *, passed: bool = True, report: Path | None = None, code: int | None = None) -> GateResult:
    kept = str(report) if report else ""
    return GateResult(name=name, command=name, passed=passed, seconds=0.1, report=kept, code=code)


def kept(folder: Path, name: str, **tests: list[str]) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"passed": [], "failed": [], "skipped": [], **tests}))
    return path


def test_a_gate_that_only_the_tests_make_red_runs_them() -> None:
    before, after = (gate("lint"), gate("test")), (gate("lint"), gate("test", passed=False))
    assert compare(before, after) == RedCheck(red=("test",), gates=("test",))


def test_green_tests_are_a_mistake_that_names_the_gates() -> None:
    found = compare((gate("lint"), gate("test")), (gate("lint"), gate("test")))
    assert found.red == found.gates == ()
    assert "`lint` passes; `test` passes" in found.mistake and "must fail now" in found.mistake


def test_what_was_red_before_shows_nothing_without_a_report() -> None:
    red = gate(passed=False)
    assert compare((red,), (red,)) == RedCheck(unclear=("t",))


def test_a_report_tells_the_new_failures_from_the_old_ones(tmp_path: Path) -> None:
    before = gate(passed=False, report=kept(tmp_path, "before", passed=["a"], failed=["old"]))
    both = gate(passed=False, report=kept(tmp_path, "both", passed=["a"], failed=["old", "new"]))
    assert compare((before,), (both,)) == RedCheck(red=("new",), gates=("t",))
    same = gate(passed=False, report=kept(tmp_path, "same", passed=["a", "new"], failed=["old"]))
    assert "fails only by tests that failed before" in compare((before,), (same,)).mistake


@pytest.mark.parametrize(("passed", "said"), [(["a"], "does not run any new test"), (["a", "new"], "`t` passes")])
def test_tests_that_no_gate_finds_are_told_from_green_ones(tmp_path: Path, passed: list[str], said: str) -> None:
    before = gate(report=kept(tmp_path, "before", passed=["a"]))
    after = gate(report=kept(tmp_path, "after", passed=passed))
    assert said in compare((before,), (after,)).mistake


def test_a_test_that_cannot_run_is_red_by_its_gate(tmp_path: Path) -> None:
    before = gate(report=kept(tmp_path, "before", passed=["a"]))
    assert compare((before,), (gate(passed=False),)).red == ("t",)
    failed = gate(passed=False, report=kept(tmp_path, "after", failed=["collection"]))
    assert compare((before,), (failed,)).red == ("collection",)


def test_many_names_are_cut(tmp_path: Path) -> None:
    after = gate(passed=False, report=kept(tmp_path, "after", failed=[f"t{number}" for number in range(50)]))
    assert len(compare((gate(),), (after,)).red) == MAX_NAMES


def test_a_base_without_any_test_was_not_broken(tmp_path: Path) -> None:
    empty = gate(passed=False, code=0, report=kept(tmp_path, "before"))
    assert compare((empty,), (gate(passed=False, code=1),)) == RedCheck(red=("t",), gates=("t",))
    assert "does not run any new test" in compare((empty,), (empty,)).mistake
