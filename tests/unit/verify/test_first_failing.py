"""The one line of a red gate's output that stands for all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.plan.model import GateResult
from ralph.text import PlainStream
from ralph.verify.gates import explain
from ralph.verify.output import first_failing, useful

DATA = Path(__file__).parents[2] / "data/gates"


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("pytest-captured-output", "E AssertionError: assert 3 == 4 · test_captured.py:7: AssertionError"),
        ("pytest-native-traceback", "shop.OutOfStock: tea is sold out"),
        ("unittest-early-and-late", "ERROR: test_140_lookup (test_shop.Shop.test_140_lookup) · KeyError: 'coffee'"),
        ("go-build", './main.go:5:2: imported and not used: "os"'),
        ("cargo-build", "error[E0308]: mismatched types"),
        ("eslint-among-warnings", "92:18 error 'taxRate' is not defined no-undef"),
        ("mypy-many", 'many/stock_59.py:3: error: Incompatible return value type (got "int", expected "str")'),
        ("jest-coverage", "● price 28 › knows coffee · TypeError: Cannot read properties of undefined"),
    ],
)
def test_of_real_output(tmp_path: Path, log: str, line: str) -> None:
    (tmp_path / "log").write_bytes(PlainStream().feed((DATA / f"{log}.log").read_bytes(), is_last=True))
    assert first_failing(useful(tmp_path / "log")).startswith(line)


def test_without_any_sign_it_is_the_last_line_and_of_nothing_it_is_nothing() -> None:
    assert first_failing("one\ntwo is not there\n----\n") == "two is not there"
    assert first_failing("") == ""
    assert len(first_failing("x " * 4000)) <= 200


def test_the_first_line_of_a_reason_can_stand_alone() -> None:
    red = GateResult(
        name="t", command="t", passed=False, seconds=1, reason="exit code 1", output="ok\nE   assert 0\nend"
    )
    assert explain([red]) == "The gate `t` failed: exit code 1: E assert 0\n\nok\nE   assert 0\nend"
    silent = GateResult(name="t", command="t", passed=False, seconds=1, reason="exit code 1")
    assert explain([silent]) == "The gate `t` failed: exit code 1."
