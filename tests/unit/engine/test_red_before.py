"""Gates that were red before: the same failure twice in a row is not the agents' to repair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.engine.red_before import RedBefore, failure_of
from ralph.plan.model import GateResult


def red(output: str = "error: no key", name: str = "tests", **more: object) -> GateResult:
    values: dict[str, object] = {"passed": False, "seconds": 1.0, "code": 1, "output": output, **more}
    return GateResult(name=name, command=name, **values)  # type: ignore[arg-type]  # fields by name


def green(name: str = "tests") -> GateResult:
    return GateResult(name=name, command=name, passed=True, seconds=1.0, code=0)


def learned(*results: GateResult) -> RedBefore:
    known = RedBefore()
    known.learn(results)
    return known


def test_the_second_attempt_in_a_row_that_fails_as_before_is_told_from_others() -> None:
    known = learned(red())
    assert [known.is_unchanged((red(),)) for _ in range(3)] == [False, True, True]


@pytest.mark.parametrize("other", [red("error: another"), red(code=2), green()])
def test_a_failure_that_changes_begins_anew(other: GateResult) -> None:
    known = learned(red())
    assert not known.is_unchanged((red(),))
    assert not known.is_unchanged((other,))
    assert not known.is_unchanged((red(),))


def test_a_gate_that_an_agent_has_made_green_can_be_made_green() -> None:
    known = learned(red())
    known.is_unchanged((green(),))
    assert [known.is_unchanged((red(),)) for _ in range(3)] == [False, False, False]


def test_any_other_red_gate_keeps_the_task_going() -> None:
    known = learned(red())
    both = (red(), red(name="lint"))
    assert not any(known.is_unchanged(both) for _ in range(3))


def test_an_optional_gate_does_not_count() -> None:
    known = learned(red())
    optional = red("error: something", name="lint", required=False)
    assert [known.is_unchanged((red(), optional)) for _ in range(2)] == [False, True]


def test_a_gate_that_prints_nothing_has_no_failure_to_compare() -> None:
    known = learned(red(""))
    assert not any(known.is_unchanged((red(""),)) for _ in range(3))


def test_what_lands_red_because_a_person_waived_it_is_red_before_for_the_next_task() -> None:
    known = learned(green())
    known.learn((red(required=False),))
    assert [known.is_unchanged((red(),)) for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error in 0.12s", "error in 3s"),
        ("error at 0x7f00", "error at 0xab12"),
        ("error in /tmp/a/verify/1/x.py", "error in /tmp/b/verify/2/x.py"),
    ],
)
def test_what_differs_from_run_to_run_is_no_change(one: str, other: str) -> None:
    assert failure_of(red(one)) == failure_of(red(other))


@pytest.mark.parametrize(("one", "other"), [("error: 1 of 3", "error: 2 of 3"), ("error: x.py:3", "error: y.py:3")])
def test_numbers_and_names_are_a_change(one: str, other: str) -> None:
    assert failure_of(red(one)) != failure_of(red(other))


def test_with_a_report_the_failed_tests_are_compared_by_name(tmp_path: Path) -> None:
    def reported(file: str, *failed: str) -> GateResult:
        path = tmp_path / file
        path.write_text(json.dumps({"passed": ["a"], "failed": list(failed), "skipped": []}))
        return red(f"error: {file}", report=str(path))

    assert failure_of(reported("1", "b", "c")) == failure_of(reported("2", "c", "b"))
    assert failure_of(reported("1", "b", "c")) != failure_of(reported("2", "b"))
