"""How many tests ran, by what runners print."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.verify.counts import count, ran_in_log

DATA = Path(__file__).parents[2] / "data/gates"


@pytest.mark.parametrize(
    ("log", "number"),
    [
        ("pytest-quiet-xdist", 400),
        ("pytest-captured-output", 2),
        ("jest-coverage", 302),
        ("vitest-early-and-late", 302),
        ("cargo-test", 203),
        ("unittest-early-and-late", 150),
        ("mypy-many", None),
        ("go-build", None),
    ],
)
def test_of_real_output(log: str, number: int | None) -> None:
    assert ran_in_log(DATA / f"{log}.log") == number


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ("3 passed, 2 skipped in 0.01s", 3),
        ("==== 3 passed, 1 xfailed, 2 skipped in 61.20s (0:01:01) ====", 4),
        ("no tests ran in 0.00s", None),
        ("===== 2 skipped in 0.10s =====", 0),
        ("Ran 12 tests in 0.100s\n\nOK (skipped=3)", 9),
        ("Ran 12 tests in 0.100s\n\nFAILED (failures=1, skipped=2, expected failures=1)", 10),
        ("# tests 5\n# pass 4\n# fail 0\n# skipped 1", 4),
        ("ℹ pass 4\nℹ fail 1", 5),
        ("  3 passing (10ms)\n  1 pending\n  2 failing", 5),
        ("Tests:       1 skipped, 3 passed, 4 total", 3),
        ("12 examples, 0 failures, 3 pending", 9),
        ("OK (3 tests, 4 assertions)", 3),
        ("Tests: 5, Assertions: 4, Skipped: 2.", 3),
        ("[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 2", 10),
        ("[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in shop.CartTest", None),
        ("5 tests, 0 failures, 1 skipped", 4),
        ("Files=2, Tests=7,  0 wallclock secs", 7),
        ("Passed!  - Failed:     0, Passed:    12, Skipped:     1, Total:    13, Duration: 20 ms", 12),
        ("Tests:  3 passed, 3 total\nTests:  4 passed, 4 total", 7),
        ("I ate 3 tests in 4 days", None),
        ("", None),
    ],
)
def test_of_summaries(output: str, number: int | None) -> None:
    assert count(output) == number


def test_a_log_that_is_gone_or_huge_is_not_counted(tmp_path: Path) -> None:
    assert ran_in_log(tmp_path / "no.log") is None
    (tmp_path / "huge.log").write_bytes(b"3 passed in 0.1s\n" * 1_000_000)
    assert ran_in_log(tmp_path / "huge.log") is None
