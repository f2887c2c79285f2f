"""Ctrl-C, `kill` and `kill -9` at every kind of moment: nothing is left running, nothing is lost or done twice."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.requirements import (
    COMMIT,
    LAYOUTS,
    REVIEW,
    SETUP,
    VERIFY,
    WORK,
    Founded,
    check,
    does,
    marks,
)
from tests.conftest import processes_in, wait_for
from tests.instants import ended_at

HANG = """
hang() {
    if test "$(cat "$AT/moment")" = "$1" && ! test -e "$AT/begun"; then
        touch "$AT/begun"; setsid sleep 300 & sleep 300
    fi
}
"""
AGENT = r"""
prompt=$(cat)
case "$prompt" in
*"# Ralph Setup"*)
    echo shop > README.md; hang setup ;;
*"# Task Review"*)
    hang review
    file=$(echo "$prompt" | sed -n 's/.*to the file `\([^`]*\)`.*/\1/p')
    echo '{"verdict": "qualified", "findings": [], "summary": "Good"}' > "$file" ;;
*"ID:** T-001"*)
    echo one > one.txt; hang agent; flaky agent-retry || exit 1; echo '<ralph>DONE</ralph>' ;;
*"ID:** T-002"*)
    echo two > two.txt; echo '<ralph>DONE</ralph>' ;;
esac
"""
FLAKY = """
flaky() {
    if test "$(cat "$AT/moment")" = "$1" && ! test -e "$AT/begun"; then touch "$AT/begun"; return 1; fi
}
"""
HANGS = ("setup", "agent", "command", "verify", "review", "hook", "baseline")
WAITS = ("agent-retry", "command-retry", "breaker")
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


def prepare(project: Founded, moment: str) -> None:
    """Set-up, then two tasks with every kind of step; at the given moment something hangs or waits, once."""
    words = f"AT={project.folder}\n{HANG}{FLAKY}"
    shell = project.folder / "words.sh"
    shell.write_text(words)
    (project.folder / "moment").write_text(moment)
    project.config(f". {shell}; hang verify" if moment != "baseline" else f". {shell}; hang baseline")
    project.agent(words + AGENT)
    hook = Path(project.git("rev-parse", "--absolute-git-dir")) / "hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n. {shell}\ngit diff --cached --name-only | grep -q one.txt && hang hook\nexit 0\n")
    hook.chmod(0o755)
    command: dict[str, Any] = {"name": "build", "type": "command"}
    command["config"] = {"command": f". {shell}; hang command; flaky command-retry && flaky breaker"}
    if moment == "breaker":
        command["circuit_breaker"] = {"threshold": 1, "reset_after": "1h"}
    again = {"max_retries": 1, "retry_delay": "1h"} if moment.endswith("-retry") else {}
    once = () if moment == "baseline" else (SETUP,)
    project.steps(*once, WORK | again, command | again, VERIFY, REVIEW, COMMIT)


def reach(project: Founded, moment: str) -> None:
    """Wait until a run is at the given moment."""
    project.reached("begun")
    if moment == "breaker":
        wait_for(lambda: project.json(".ralph/run_state.json")["status"] == "waiting", what=moment)
    elif moment in WAITS:
        wait_for(lambda: project.events("step_retried"), what=moment)


def finish(project: Founded) -> None:
    """The next run goes on from there, and everything is as if nothing had happened."""
    check(project.plan(), "tasks")

    done = project.ralph("run")

    assert "requirements: complete · all gates green" in done.stdout
    assert processes_in(project.folder) == []
    check(project.plan(), "tasks")
    assert project.states() == {"T-001": "done", "T-002": "done"}
    work = [subject for subject in project.subjects()[::-1] if "prd.json" not in subject]
    once = ["chore: Set-up: setup"] if "SETUP_PROMPT" in project.read(".ralph/configs/default.json") else []
    assert work == ["chore: begin", *once, "feat: T-001 - One", "feat: T-002 - Two"], "each is done exactly once"
    assert project.committed("one.txt") == "one"
    assert project.committed("two.txt") == "two"
    project.untouched()
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []
    assert not project.exists(".ralph/ralph.lock")
    assert project.aggregate()["status"] == "done"


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("moment", [*HANGS, *WAITS])
def test_ended_at_this_moment_it_goes_on_later_and_each_task_is_done_once(
    founded: Founded, moment: str, name: str
) -> None:
    prepare(founded, moment)
    run = founded.start("run")
    reach(founded, moment)

    run.send_signal(SIGNALS[name])
    out, _ = run.communicate(timeout=20)

    if name == "SIGKILL":
        assert run.returncode == -signal.SIGKILL
    else:
        assert run.returncode == 130, out
        assert "requirements: interrupted · run the same command again to resume" in out
        assert processes_in(founded.folder) == []
        assert founded.aggregate()["status"] == "interrupted"
        assert founded.run_state()["status"] == "interrupted"
        assert not founded.exists(".ralph/ralph.lock")
    finish(founded)
    failed_loops = 1 if moment == "breaker" else 0
    assert [task["loops"] for task in founded.plan()["tasks"]] == [failed_loops, 0], "being ended costs nothing"


@pytest.mark.parametrize("moment", ["setup", "agent", "command", "verify", "review"])
def test_a_second_ctrl_c_ends_everything_at_once_and_it_goes_on_later(founded: Founded, moment: str) -> None:
    prepare(founded, moment)
    hanging = 'touch "$AT/begun"; setsid sleep 300 & sleep 300'
    stubborn = "trap 'touch $AT/asked' TERM; touch $AT/begun; while :; do sleep 0.1; done"
    for name in ("words.sh", "agent.sh"):
        file = founded.folder / name
        file.write_text(file.read_text().replace(hanging, stubborn))
    run = founded.start("run")
    reach(founded, moment)

    run.send_signal(signal.SIGINT)
    founded.reached("asked")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)

    assert run.returncode == 130, out
    assert "stopped at once. Run the same command again to resume." in out
    wait_for(lambda: processes_in(founded.folder) == [])
    assert founded.aggregate()["status"] == "interrupted"
    assert founded.run_state()["status"] == "interrupted"
    finish(founded)


FORGED = {
    "its task": marks("T-001", "done"),
    "every task": f"{marks('T-001', 'done')}; {marks('T-002', 'done')}",
    "the gates": "sed -i 's/test -f proof.txt/true/' $RALPH_ROOT/ralph.config.json",
    "the steps": 'echo \'{"steps": [{"type": "agent"}, {"type": "verify", "enabled": false}]}\' '
    "> $RALPH_ROOT/.ralph/configs/default.json",
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("what", FORGED)
def test_what_an_agent_wrote_before_it_was_ended_is_not_believed_later(founded: Founded, what: str, name: str) -> None:
    """An agent is told to mark its task: whoever kills the run just then must not turn the claim into a fact."""
    founded.config("test -f proof.txt")
    slow = [FORGED[what], "touch $RALPH_ROOT/../begun; sleep 300"]
    founded.script(does("T-001", "half.txt", run=slow, times=1), does("T-001", "more.txt"))
    run = founded.start("run")
    founded.reached("begun")
    run.send_signal(SIGNALS[name])
    run.communicate(timeout=20)

    founded.ralph("run", "--once", code=3)

    assert founded.states() == {"T-001": "in_progress", "T-002": "todo"}
    assert "test -f proof.txt" in founded.task()["notes"]


def test_ctrl_c_while_ralph_looks_at_what_an_agent_did_loses_nothing(founded: Founded) -> None:
    folder, real = founded.folder, shutil.which("git")
    slow = folder / "bin/git"
    slow.parent.mkdir()
    hold = f"if test -e {folder}/ended && ! test -e {folder}/begun; then touch {folder}/begun; sleep 1; fi"
    slow.write_text(f'#!/bin/sh\n{hold}\nexec {real} "$@"\n')
    slow.chmod(0o755)
    founded.env["PATH"] = f"{slow.parent}:{founded.env['PATH']}"
    founded.tasks("One")
    founded.agent(f"cat > /dev/null; echo one > one.txt; touch {folder}/ended; echo '<ralph>DONE</ralph>'\n")
    run = founded.start("run")
    founded.reached("begun")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)

    assert run.returncode == 130, out
    done = founded.ralph("run")
    assert "T-001 resumes where it stopped: its agent had finished." in done.stdout, "what it made is kept"
    assert len(founded.events("agent_started")) == 1, "nobody does it again"
    assert "one.txt" in founded.files_in("refs/ralph/attempts/requirements/T-001/1")
    assert founded.commits_of("T-001") == 1
    assert founded.committed("one.txt") == "one"
    assert founded.task()["loops"] == 0


LANES = 3
STRIDE = 23


@pytest.mark.long
@pytest.mark.parametrize("lane", range(LANES))
def test_ctrl_c_at_any_instant_costs_nothing(tmp_path: Path, lane: int) -> None:
    layouts = list(LAYOUTS.values())
    for turn, instant in enumerate(range(1 + lane * STRIDE, 1000, LANES * STRIDE)):
        folder = tmp_path / str(instant)
        folder.mkdir()
        project = Founded(folder, *layouts[turn % len(layouts)])
        prepare(project, "never")
        if ended_at(project, instant, signal.SIGINT, "run"):
            return
        finish(project)
    raise AssertionError("the run never came to its end")
