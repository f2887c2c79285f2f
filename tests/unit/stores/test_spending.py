"""What attempts used, over all runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ralph.journal.events import AttemptEnded
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, WorkKind
from ralph.stores import spending
from ralph.views import spent
from tests.unit.conftest import full_disk


def attempt(work: str = "US-001", number: int = 1, cost: float | None = 0.5) -> AttemptEnded:
    return AttemptEnded(
        work=work,
        attempt=number,
        kind=WorkKind.TASK,
        verdict=Verdict.FAILED,
        reason="a long story " * 500,
        base="",
        commit="",
        ref="",
        seconds=10.0,
        usage=Usage(calls=1, cost_usd=cost, output_tokens=7, model="m"),
    )


def test_planning_is_paid_for_and_no_attempt(tmp_path: Path) -> None:
    planned = replace(attempt("plan"), kind=WorkKind.PLAN, verdict=Verdict.PASSED)
    spending.append(tmp_path, "r1", "auth", planned)
    assert spent.summary(tmp_path, "auth") == "in all runs: planning · 10 s · 0 tokens in, 7 out · $0.50"
    spending.append(tmp_path, "r2", "auth", attempt())

    total = spending.of_target(tmp_path, "auth").total

    assert (total.attempts, total.usage.calls, total.usage.cost_usd) == (1, 2, 1.0)
    assert spent.summary(tmp_path, "auth").startswith("in all runs: 1 attempt · 20 s")


def test_attempts_are_added_up_for_each_plan_and_each_task(tmp_path: Path) -> None:
    for target, event in (("auth", attempt()), ("auth", attempt("US-002")), ("other", attempt()), ("auth", attempt())):
        spending.append(tmp_path / "run", "r1", target, event)

    found = spending.of_target(tmp_path / "run", "auth")

    assert (found.total.attempts, found.total.seconds, found.total.usage.cost_usd) == (3, 30.0, 1.5)
    assert {work: spent.attempts for work, spent in found.tasks.items()} == {"US-001": 2, "US-002": 1}
    assert found.total.usage.output_tokens == 21


def test_an_unknown_cost_stays_unknown(tmp_path: Path) -> None:
    spending.append(tmp_path, "r1", "auth", attempt(cost=None))
    assert spending.of_target(tmp_path, "auth").total.usage.cost_usd is None


def test_lines_are_short_whatever_the_reason(tmp_path: Path) -> None:
    path = spending.append(tmp_path, "r1", "auth", attempt())
    assert path.stat().st_size < 700


@pytest.mark.parametrize("left", [b'{"v": 1, "target": "auth", "event": "attempt_en', b"\xff\xfe", b"[]", b"nothing\n"])
def test_a_damaged_line_hides_no_other(tmp_path: Path, left: bytes) -> None:
    path = spending.append(tmp_path, "r1", "auth", attempt())
    with path.open("ab") as file:
        file.write(left)
    spending.append(tmp_path, "r2", "auth", attempt(number=2))
    assert spending.of_target(tmp_path, "auth").total.attempts == 2


def test_before_the_first_attempt_nothing_is_spent(tmp_path: Path) -> None:
    assert spending.of_target(tmp_path, "auth").total.attempts == 0


def test_an_attempt_that_does_not_fit_on_the_disk_is_an_error_and_not_half_a_line(tmp_path: Path) -> None:
    with full_disk(100), pytest.raises(OSError, match="too large"):
        spending.append(tmp_path / "run", "r1", "auth", attempt())
    spending.append(tmp_path / "run", "r1", "auth", attempt())
    assert spending.of_target(tmp_path / "run", "auth").total.attempts == 1
