"""Gates are the person's own commands: their exit codes decide, and what they printed is at hand."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph import config
from ralph.plan.model import Gate, GateResult
from ralph.process.redaction import Secrets
from ralph.verify import gates
from ralph.verify.gate_list import red
from ralph.verify.gates import GateRun, explain
from tests.integration.conftest import FOREVER, alive, numbers, until, written

pytestmark = pytest.mark.usefixtures("nobody_left")


class Told:
    """What a person would be told while the gates run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def bench(self, folder: Path) -> GateRun:
        (folder / "logs").mkdir(exist_ok=True)
        settings = {"provider": {"command": "x"}, "verify": {"default": [], "env": ["DEPLOY_*"]}}
        return GateRun(
            cwd=folder,
            logs=folder / "logs",
            owner="test",
            label="US-001-1",
            environment=gates.gate_environment(config.parse(json.dumps(settings).encode()), {"OF_THE_COPY": "yes"}),
            secrets=Secrets.of(os.environ),
            started=lambda gate: self.lines.append(f"{gate.name} …"),
            ended=lambda result: self.lines.append(f"{result.name} {'green' if result.passed else 'red'}"),
        )


def check(folder: Path, *commands: str, timeout: float = 60, **more: Any) -> tuple[GateResult, ...]:
    wanted = [Gate(name=command, command=command, timeout=timeout, **more) for command in commands]
    return asyncio.run(gates.run_all(wanted, Told().bench(folder)))


def test_a_gate_that_succeeds_is_green(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "echo fine; test -d logs")

    assert result.passed
    assert (result.code, result.reason, result.output) == (0, "", "")
    assert Path(result.log).read_text() == "fine\n"
    assert red([result]) == ()


def test_a_gate_that_fails_is_red_with_its_exit_code_and_output(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "echo one; echo 'error: two' >&2; exit 4")

    assert not result.passed
    assert (result.code, result.reason) == (4, "exit code 4")
    assert result.output == "one\nerror: two"
    assert explain([result]) == (
        "The gate `echo one; echo 'error: two' >&2; exit 4` failed: exit code 4: error: two\n\none\nerror: two"
    )


def test_a_gate_without_end_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    (result,) = check(tmp_path, f"sleep {FOREVER} & echo $! $$; wait", timeout=1.0)

    assert not result.passed
    assert result.reason == "it did not finish within its time limit of 1 s, so Ralph ended its whole process tree"
    assert 1.0 <= result.seconds < 20
    pids = numbers(Path(result.log).read_text())
    assert len(pids) == 2
    assert not [pid for pid in pids if alive(pid)]


def test_a_gate_that_succeeds_too_late_is_red(tmp_path: Path) -> None:
    (result,) = check(tmp_path, f"trap 'exit 0' TERM; while :; do sleep {FOREVER} & wait; done", timeout=0.5)

    assert not result.passed
    assert "time limit of 0.5 s" in result.reason


def test_a_gate_s_missing_command_is_said_to_be_missing(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "no-such-linter --strict")

    assert not result.passed
    assert result.reason == "exit code 127 (command not found)"
    assert "no-such-linter" in result.output


def test_a_gate_that_crashes_is_red(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "kill -SEGV $$")

    assert not result.passed
    assert result.reason == "signal 11 ended it"


def test_every_gate_is_run_also_after_a_red_one(tmp_path: Path) -> None:
    told = Told()
    wanted = [
        Gate(name="lint", command="echo bad lint; false", timeout=60),
        Gate(name="style", command="echo bad style; false", timeout=60, required=False),
        Gate(name="types", command="true", timeout=60),
        Gate(name="test", command="echo bad test; exit 2", timeout=60),
    ]

    results = asyncio.run(gates.run_all(wanted, told.bench(tmp_path)))

    assert [result.passed for result in results] == [False, False, True, False]
    assert told.lines == ["lint …", "lint red", "style …", "style red", "types …", "types green", "test …", "test red"]
    assert [result.name for result in red(results)] == ["lint", "test"]
    assert "bad lint" in explain(results)
    assert "bad test" in explain(results)
    assert "bad style" not in explain(results)


def test_a_secret_a_gate_prints_is_not_in_its_log_or_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "t0ken-0123456789")

    (result,) = check(
        tmp_path,
        'echo "error: $DEPLOY_TOKEN"; printf t0ken-0; sleep 0.2; echo 123456789; printf "end $DEPLOY_TOKEN"; false',
    )

    assert result.output == "error: [secret]\n[secret]\nend [secret]"
    assert Path(result.log).read_text() == "error: [secret]\n[secret]\nend [secret]"


def test_a_gate_sees_what_it_needs_of_a_person_s_environment_and_nothing_of_ralph_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING_OF_A_PERSON", "here")
    monkeypatch.setenv("DEPLOY_STAGE", "test")
    monkeypatch.setenv("RALPH_TASK", "US-001")

    (result,) = check(tmp_path, 'test -z "$SOMETHING_OF_A_PERSON"; env | sort; test "$DEPLOY_STAGE" = test')

    assert result.passed
    names = {line.partition("=")[0] for line in Path(result.log).read_text().splitlines()}
    assert {"PATH", "DEPLOY_STAGE", "OF_THE_COPY"} <= names
    assert not [name for name in names if "RALPH" in name]


def test_a_gate_that_asks_a_question_gets_no_answer_and_does_not_wait(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "read answer", timeout=20)

    assert not result.passed
    assert result.code == 1


def test_each_gate_has_a_log_of_its_own(tmp_path: Path) -> None:
    first, second, third = check(tmp_path, "echo one", "echo one", "../ odd / name?; echo three")

    assert [Path(result.log).name for result in (first, second, third)] == [
        "US-001-1-gate1-echo-one.log",
        "US-001-1-gate2-echo-one.log",
        "US-001-1-gate3-odd-name-echo-three.log",
    ]
    assert Path(third.log).read_text().endswith("three\n")


def test_a_green_gate_that_leaves_a_server_running_is_green_and_the_server_ends(tmp_path: Path) -> None:
    (result,) = check(tmp_path, f"sleep {FOREVER} & echo $!")

    assert result.passed
    assert result.seconds < 20
    assert not alive(numbers(Path(result.log).read_text())[0])


def test_a_gate_s_output_of_any_size_is_told_in_short(tmp_path: Path) -> None:
    (result,) = check(tmp_path, "seq 100000; echo 'error: the first one'; seq 100000; echo the end; false")

    assert Path(result.log).stat().st_size > 1_000_000
    assert "error: the first one" in result.output
    assert result.output.endswith("the end")
    assert len(result.output) < 5_000


def test_a_cancelled_gate_ends_with_everything_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def cancelled() -> None:
        gate = Gate(name="slow", command=f"sleep {FOREVER} & echo $! $$ > pids; wait", timeout=60)
        task = asyncio.create_task(gates.run_all([gate], Told().bench(tmp_path)))
        await until(lambda: written(pids))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert not [pid for pid in numbers(pids.read_text()) if alive(pid)]
