"""Gates that run at the same time, order among them, and gates that give different answers on the same files."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from ralph.engine.baseline import check_baseline
from ralph.engine.loop import work_through
from ralph.journal.events import AttemptEnded, EvidenceEnded, GateEnded, GateRepeated, GateStarted
from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult, TaskState
from tests.conftest import Project
from tests.integration.conftest import FOREVER, alive, numbers, until
from tests.integration.engine import Engine, Turn, engine, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

MEET = "touch {folder}/{name}; while ! test -e {folder}/{other}; do sleep 0.01; done"
"""Two such gates are green only if they run at the same time."""


def gate(name: str, command: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": command, "timeout": 20, **more}


def played(
    project: Project,
    *gates: dict[str, Any],
    turns: list[Turn] | None = None,
    baseline: bool = False,
    stories: tuple[str, ...] = ("One",),
    **settings: Any,
) -> Engine:
    """The stories with these gates; each is attempted until it passes or is blocked."""

    async def body(made: Engine) -> Engine:
        if baseline:
            await check_baseline(made.run)
        await work_through(made.run, made.slots)
        return made

    verify = {"default": [], **settings.pop("verify", {})}
    each = {f"US-{number:03}": turns or [writes(one="1")] for number in range(1, len(stories) + 1)}
    done: Engine = engine(
        project, body, turns=each, stories=stories, gates=list(gates), verify=verify, maxRetries=1, **settings
    )
    return done


def results(made: Engine, work: str = "US-001") -> dict[str, GateResult]:
    return {event.result.name: event.result for event in made.told(GateEnded) if event.work == work}


def passed(made: Engine) -> bool:
    return made.task().state is TaskState.PASSED


def counted(tmp_path: Path, name: str = "runs") -> str:
    """A command that writes a line each time it runs, outside of every copy."""
    return f"echo x >> {tmp_path}/{name}"


def runs_of(tmp_path: Path, name: str = "runs") -> int:
    path = tmp_path / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def flips(tmp_path: Path, *red: int) -> str:
    """A command that is red in these of its runs, counted over all copies."""
    wrong = "|".join(map(str, red))
    unlucky = "echo 'error: unlucky'; exit 3"
    return f"{counted(tmp_path)}; case $(wc -l < {tmp_path}/runs | tr -d ' ') in {wrong}) {unlucky};; esac"


def test_parallel_gates_run_at_the_same_time_and_results_keep_their_order(project: Project, tmp_path: Path) -> None:
    a, b = (MEET.format(folder=tmp_path, name=one, other=other) for one, other in (("a", "b"), ("b", "a")))
    made = played(project, gate("a", a, parallel=True), gate("in line", "true"), gate("b", b, parallel=True))
    assert passed(made)
    (ended,) = [event for event in made.told(AttemptEnded) if event.work == "US-001"]
    assert [result.name for result in ended.gates] == ["a", "in line", "b"]


def test_all_plain_commands_run_at_the_same_time_if_the_project_says_so(project: Project, tmp_path: Path) -> None:
    commands = [MEET.format(folder=tmp_path, name=one, other=other) for one, other in (("a", "b"), ("b", "a"))]

    async def body(made: Engine) -> Engine:
        await work_through(made.run, made.slots)
        return made

    verify = {"default": commands, "parallel": True, "timeout": 20}
    made = engine(project, body, turns={"US-001": [writes(one="1")]}, verify=verify, maxRetries=1)
    assert passed(made)


def test_each_parallel_gate_has_the_files_of_the_commit_and_nothing_of_the_others(project: Project) -> None:
    alone = "test ! -e left && grep -q app app.txt && echo left > left && echo changed > app.txt"
    made = played(project, *(gate(str(number), alone, parallel=True) for number in range(3)), gate("line", alone))
    assert {name: result.passed for name, result in results(made).items()} == dict.fromkeys("012", True) | {
        "line": True
    }


def test_a_parallel_gate_sees_nothing_that_gates_in_line_left_and_those_see_it_as_before(project: Project) -> None:
    made = played(
        project,
        gate("build", "echo made > made"),
        gate("beside", "test ! -e made", parallel=True, needs=["build"]),
        gate("uses the build", "test -e made"),
        gate("last", "test ! -e made", parallel=True, needs=["uses the build"]),
    )
    assert all(result.passed for result in results(made).values())


def test_protected_files_are_watched_in_every_copy(project: Project) -> None:
    project.write("tests.txt", "strict\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "Tests")
    gates = [gate("a", "true", parallel=True), gate("b", "echo lax > tests.txt", parallel=True)]
    made = played(project, *gates, gate("c", "true"), protect=["tests.txt"])
    assert not passed(made)
    assert "it changed protected files (tests.txt)" in made.task().notes


def test_a_gate_runs_only_after_those_that_it_needs(project: Project, tmp_path: Path) -> None:
    order = tmp_path / "order"
    made = played(
        project,
        gate("last", f"echo last >> {order}", needs=["b", "a"], parallel=True),
        gate("b", f"echo b >> {order}", needs=["a"]),
        gate("a", f"sleep 0.2; echo a >> {order}", parallel=True),
    )
    assert passed(made)
    assert order.read_text().split()[:3] == ["a", "b", "last"]


def test_a_gate_whose_need_is_red_does_not_run_and_says_so(project: Project, tmp_path: Path) -> None:
    made = played(
        project,
        gate("lint", "echo 'error: bad'; exit 1"),
        gate("test", counted(tmp_path), needs=["lint"]),
        gate("slow", counted(tmp_path), needs=["test"], parallel=True),
        gate("types", "echo 'error: wrong'; exit 1", parallel=True),
        verify={"rerun": 0},
    )
    assert runs_of(tmp_path) == 0
    assert [event.gate for event in made.told(GateStarted) if event.work == "US-001"] == ["lint", "types"]
    found = results(made)
    assert found["test"].not_run and found["test"].reason == "it needs lint, which is not green"
    assert found["slow"].not_run and found["slow"].reason == "it needs test, which is not green"
    notes = made.task().notes
    assert "error: bad" in notes and "error: wrong" in notes, "one prompt has all failures of a round"
    assert f"The gate test (`{counted(tmp_path)}`) did not run: it needs lint" in notes


def test_a_required_gate_that_did_not_run_never_passes_a_task(project: Project) -> None:
    made = played(project, gate("warns", "exit 1", required=False), gate("test", "true", needs=["warns"]))
    assert not passed(made)
    assert "The gate test (`true`) did not run: it needs warns, which is not green." in made.task().notes


def test_an_optional_gate_that_did_not_run_is_no_obstacle(project: Project) -> None:
    made = played(
        project,
        gate("warns", "exit 1", required=False),
        gate("more", "true", needs=["warns"], required=False),
        gate("test", "true"),
    )
    assert passed(made)
    kept = {entry["name"]: entry for entry in project.story()["lastResult"]["verify"]}
    assert kept["more"]["notRun"] and not kept["more"]["passed"] and "notRun" not in kept["test"]
    body = project.git("log", "-1", "--format=%B", "--grep=^Ralph-Attempt", "ralph/auth")
    assert "Gate `true`: did not run: it needs warns, which is not green" in body


def test_nothing_proves_a_task_by_a_gate_that_did_not_run_on_the_base(project: Project) -> None:
    gates = [gate("exists", "test -e one.txt || exit 1"), gate("after", "true", needs=["exists"])]
    made = played(project, *gates, baseline=True)
    assert passed(made)
    (proof,) = made.told(EvidenceEnded)
    assert (proof.evidence, proof.proven_by) == (Evidence.PROVEN, ("exists",))


def test_the_first_red_gate_ends_the_others_if_the_project_would_rather_not_wait(
    project: Project, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    began = time.monotonic()
    made = played(
        project,
        gate("long", f"echo $$ >> {pids}; sleep {FOREVER} & echo $! >> {pids}; wait", parallel=True, timeout=600),
        gate("bad", f"while ! test -s {pids}; do sleep 0.01; done; exit 1"),
        gate("later", counted(tmp_path)),
        verify={"failFast": True, "rerun": 0},
    )
    assert time.monotonic() - began < 60
    assert runs_of(tmp_path) == 0
    found = results(made)
    assert found["later"].not_run and found["later"].reason == "bad is red, and verify.failFast is on"
    assert found["long"].not_run and found["long"].reason == "bad is red, and verify.failFast is on"
    assert not [pid for pid in numbers(pids.read_text()) if alive(pid)]
    notes = made.task().notes
    assert "did not run: bad is red" in notes and "did not finish: bad is red" in notes


def test_an_optional_red_gate_ends_nothing(project: Project) -> None:
    made = played(project, gate("warns", "exit 1", required=False), gate("a", "true"), verify={"failFast": True})
    assert passed(made) and not results(made)["a"].not_run


def test_each_parallel_gate_has_its_own_time_limit(project: Project) -> None:
    endless = gate("endless", f"sleep {FOREVER} & wait", parallel=True) | {"timeout": 1}
    made = played(project, endless, gate("fine", "sleep 2", parallel=True), gate("also", "true"))
    found = results(made)
    assert (found["endless"].passed, found["fine"].passed, found["also"].passed) == (False, True, True)
    assert "time limit of 1 s" in found["endless"].reason


def test_an_interrupt_ends_every_gate_that_runs(project: Project, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    forever = f"echo $$ >> {pids}; sleep {FOREVER} & echo $! >> {pids}; wait"

    async def body(made: Engine) -> Engine:
        work = asyncio.create_task(work_through(made.run, made.slots))
        await until(lambda: pids.exists() and len(numbers(pids.read_text())) == 6)
        made.run.interrupt.halt()
        await work
        return made

    gates = [gate(name, forever, parallel=True) | {"timeout": 600} for name in "abc"]
    made = engine(project, body, turns={"US-001": [writes(one="1")]}, gates=gates, verify={"default": []})
    assert not [pid for pid in numbers(pids.read_text()) if alive(pid)]
    assert made.task().failures == 0


# flaky gates


def test_a_gate_that_is_red_and_then_green_on_the_same_files_is_flaky_and_costs_no_retry(
    project: Project, tmp_path: Path
) -> None:
    made = played(project, gate("test", flips(tmp_path, 1)))
    assert passed(made) and made.task().failures == 0
    (again,) = made.told(GateRepeated)
    assert not again.result.passed and "error: unlucky" in again.result.output
    result = results(made)["test"]
    assert (result.passed, result.flaky) == (True, True)
    assert result.reason == "flaky: it was red (exit code 3), and green when it ran again on the same files"
    assert "error: unlucky" in result.output
    (kept,) = project.story()["lastResult"]["verify"]
    assert kept["flaky"] is True
    body = project.git("log", "-1", "--format=%B", "--grep=^Ralph-Attempt", "ralph/auth")
    assert "passed, flaky: red at first, green on the same files" in body
    (proof,) = made.told(EvidenceEnded)
    assert proof.evidence is Evidence.REGRESSION_ONLY, "an answer that changes by itself proves nothing"


def test_a_gate_that_is_red_twice_has_failed(project: Project, tmp_path: Path) -> None:
    made = played(project, gate("test", flips(tmp_path, 1, 2)))
    assert not passed(made) and made.task().failures == 1
    assert runs_of(tmp_path) == 2
    (result,) = [event.result for event in made.told(GateEnded) if event.work == "US-001"]
    assert (result.passed, result.flaky, result.reason) == (False, False, "exit code 3")


@pytest.mark.parametrize(("rerun", "runs"), [(0, 1), (3, 4)])
def test_how_often_it_runs_again_is_the_projects(project: Project, tmp_path: Path, rerun: int, runs: int) -> None:
    played(project, gate("test", f"{counted(tmp_path)}; exit 1"), verify={"rerun": rerun})
    assert runs_of(tmp_path) == runs


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("no-such-command", {}),
        (f"sleep {FOREVER}", {"timeout": 0.5}),
        ("exit 1", {"required": False}),
    ],
    ids=["cannot start", "takes for ever", "optional"],
)
def test_a_gate_runs_once_if_another_run_would_tell_nothing(
    project: Project, tmp_path: Path, command: str, more: dict[str, Any]
) -> None:
    made = played(project, gate("test", f"{counted(tmp_path)}; {command}") | more)
    assert made.told(GateRepeated) == []


def test_a_gate_that_was_red_before_runs_once(project: Project, tmp_path: Path) -> None:
    made = played(project, gate("test", f"{counted(tmp_path)}; echo 'error: old'; exit 1"), baseline=True)
    assert made.told(GateRepeated) == []
    assert runs_of(tmp_path) == 2, "before the first attempt, and after it"


def test_what_a_red_run_left_makes_no_second_run_green(project: Project, tmp_path: Path) -> None:
    made = played(project, gate("test", "test -e generated || { echo x > generated; exit 1; }"))
    assert len(made.told(GateRepeated)) == 1
    assert not passed(made), "in a clean checkout it is always red"


def test_a_gate_that_breaks_the_rules_is_not_excused_by_a_green_run(project: Project, tmp_path: Path) -> None:
    project.write("tests.txt", "strict\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "Tests")
    command = f"{flips(tmp_path, 1).replace('exit 3', 'echo lax > tests.txt; exit 3')}"
    made = played(project, gate("test", command), protect=["tests.txt"])
    assert results(made)["test"].flaky and not passed(made)
    assert "it changed protected files (tests.txt)" in made.task().notes


def test_gates_in_a_slot_stay_in_line_and_run_once(project: Project, tmp_path: Path) -> None:
    alone = f"mkdir {tmp_path}/alone && sleep 0.1 && rmdir {tmp_path}/alone"
    gates = [gate(name, alone, parallel=True) for name in "ab"]
    made = played(project, *gates, gate("test", flips(tmp_path, 1)), verify={"where": "slot"})
    found = results(made)
    assert found["a"].passed and found["b"].passed and not found["test"].passed
    assert made.told(GateRepeated) == []


def test_the_times_of_earlier_results_put_quick_gates_first(project: Project) -> None:
    """Other attempts have taken all other copies, so that the first copy has to do for all gates."""
    gates = [gate("slow", "sleep 0.3", parallel=True), gate("b", "true"), gate("quick", "true", parallel=True)]

    async def body(made: Engine) -> Engine:
        made.run.verifier._more = asyncio.Semaphore(0)
        await work_through(made.run, made.slots)
        return made

    turns = {name: [writes(**{name[-1]: "1"})] for name in ("US-001", "US-002")}
    made = engine(project, body, turns=turns, stories=("One", "Two"), gates=gates, verify={"default": []})
    started = [(event.work, event.gate) for event in made.told(GateStarted)]
    assert started[:6] == [
        *(("US-001", name) for name in ("b", "slow", "quick")),
        *(("US-002", name) for name in ("b", "quick", "slow")),
    ]


def test_the_services_of_a_check_that_is_cancelled_end_with_it(person: Project) -> None:
    listening = person.folder / "listening"
    serve = f"echo $$ >> {listening}; echo serving; exec sleep {FOREVER}"
    service = {"name": "dev", "start": serve, "ready": "log:serving", "readyTimeout": 10}
    begun = person.folder / "begun"

    async def body(made: Engine) -> None:
        verifier, tip, task = made.run.verifier, await made.tip(), made.task()
        check = asyncio.create_task(verifier.check(tip, (), "one", work=task.id, attempt=1, task=task, ui=1))
        await until(begun.exists)
        check.cancel()
        await asyncio.gather(check, return_exceptions=True)
        assert check.cancelled()
        assert not any(map(alive, numbers(listening.read_text()))), "the next check may need the same port"

    story = {"title": "Page", "tags": ["ui"]}
    ui = [f"touch {begun}; sleep {FOREVER}"]
    engine(person, body, stories=(story,), jobs=2, services=[service], verify={"default": ["true"], "ui": ui})
