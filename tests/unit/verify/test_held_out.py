"""What agents learn about a held-out gate: nothing, its name, or a summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.config import Config, parse
from ralph.plan.model import GateResult
from ralph.verify.gate_list import default_gates
from ralph.verify.gates import explain
from ralph.verify.held_out import MAX_SUMMARY, told
from ralph.workflows.prompt_text import gate_list

PATHS = ("tests/hidden/test_sums.py",)
RESULT = GateResult(
    name="acceptance",
    command="pytest tests/hidden",
    passed=False,
    seconds=1.0,
    code=1,
    reason="exit code 1",
    output="E   AssertionError: 4 is not 5 in tests/hidden/test_sums.py, tests.hidden.test_sums and test_sums.py",
    log="/secret/place.log",
    tests="1 failed",
    report="/secret/place.tests.json",
)


def config(tells: str = "name") -> Config:
    gates = (
        '{"name": "acceptance", "command": "pytest tests/hidden", "heldOut": true, "files": ["tests/hidden/**"]}, '
        '{"name": "unit", "command": "pytest"}'
    )
    text = f'{{"provider": {{"command": "x"}}, "heldOut": {{"tells": "{tells}"}}, "gates": [{gates}]}}'
    return parse(text.encode())


@pytest.mark.parametrize("tells", ["nothing", "name", "summary"])
def test_the_command_and_the_files_are_nowhere_but_in_what_runs(tells: str) -> None:
    unit, held = default_gates(config(tells))
    assert unit.name == "unit", "held-out gates come last"
    assert held.runs == "pytest tests/hidden"
    assert held.held_out
    assert held.held_out.files == ("tests/hidden/**",)
    assert "hidden" not in repr(replace(held, held_out=None))
    assert "hidden" not in gate_list((unit, held))


@pytest.mark.parametrize(("tells", "name"), [("nothing", "held-out check"), ("name", "acceptance")])
def test_neither_output_nor_log_nor_tests_are_told(tells: str, name: str) -> None:
    gate = default_gates(config(tells))[1]
    assert told(gate, RESULT, PATHS) == GateResult(
        name=name,
        command=name,
        passed=False,
        seconds=1.0,
        code=1,
        held_out=True,
        reason="it is held out, so agents cannot see what it checks",
    )
    assert explain([told(gate, RESULT, PATHS)]) == (
        f"The gate `{name}` failed: it is held out, so agents cannot see what it checks."
    )
    passed = told(gate, replace(RESULT, passed=True, reason="", output=""), PATHS)
    assert (passed.passed, passed.reason, passed.tests, passed.report, passed.log) == (True, "", "", "", "")


def test_nothing_means_that_no_prompt_names_the_gate() -> None:
    assert gate_list(default_gates(config("nothing"))) == "- unit: `pytest`"
    assert "acceptance (held out" in gate_list(default_gates(config("name")))


def test_a_summary_is_one_line_without_the_paths() -> None:
    result = told(default_gates(config("summary"))[1], RESULT, PATHS)
    hidden = "[held out], [held out] and [held out]"
    assert result.reason == f"it is held out; in short: 1 failed: E AssertionError: 4 is not 5 in {hidden}"
    assert (result.output, result.log, result.tests, result.report) == ("", "", "", "")
    long = replace(RESULT, output="Error: " + "x" * 9000)
    assert len(told(default_gates(config("summary"))[1], long, PATHS).reason) < MAX_SUMMARY + 40
