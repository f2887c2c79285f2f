"""`ralph run --detach` and `--watch`: a run in the background that outlives its terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for
from tests.screen import on_screen


@pytest.fixture
def waiting(project: Project) -> Project:
    """One task whose agent waits for the file `go`."""
    project.config("true")
    project.stories("First")
    hold = f"while ! test -f {project.folder / 'go'}; do sleep 0.05; done"
    project.script(does("US-001", "1.txt", say=["I wait"], run=[hold]), VERIFIED)
    return project


def finish(project: Project, pid: int) -> None:
    (project.folder / "go").touch()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the run")


def started(text: str) -> int:
    found = re.search(r"auth runs in the background: run \S+, process (\d+)", text)
    assert found, text
    return int(found[1])


def test_a_run_in_the_background_outlives_its_terminal(waiting: Project) -> None:
    with on_screen(waiting, "run", "auth", "--detach", "--no-baseline") as shown:
        text = shown.expect("runs in the background", "`ralph watch auth`", "It goes on when")
        assert shown.end() == 0
    pid = started(text)
    wait_for(lambda: waiting.calls() == 1)
    assert os.getsid(pid) == pid
    output = waiting.path / ".ralph/logs/auth.output.txt"
    wait_for(lambda: "US-001 First" in output.read_text(), what="its output")
    assert "working on auth" in waiting.ralph("status").stdout
    assert str(pid) in waiting.ralph("run", "auth", "--detach", code=5).stderr, "there is one run at a time"
    finish(waiting, pid)
    assert "auth: complete" in output.read_text()
    assert not waiting.git("status", "--porcelain", "--ignored=no").count("output.txt")


def test_it_stops_as_it_says(waiting: Project) -> None:
    done = waiting.ralph("run", "auth", "--detach", "--no-baseline")
    pid = started(done.stdout)
    assert "Stop it: `ralph stop auth`" in done.stdout
    wait_for(lambda: waiting.calls() == 1)
    waiting.ralph("stop", "auth", "--now")
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the run")
    assert "stop" in (waiting.path / ".ralph/logs/auth.output.txt").read_text()


def test_what_is_wrong_is_said_at_once(waiting: Project) -> None:
    waiting.config("true", provider={"command": "no-such-agent"})
    assert "no-such-agent" in waiting.ralph("run", "auth", "--detach", code=1).stderr
    done = waiting.ralph("run", "auth", "--detach", "--json", code=1)
    assert "--detach does not go with --json" in done.stderr


def test_options_reach_the_run_and_a_finished_plan_says_so(waiting: Project) -> None:
    (waiting.folder / "go").touch()
    pid = started(waiting.ralph("run", "auth", "--detach", "--once", "--jobs", "2", "--no-baseline").stdout)
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the run")
    told = (waiting.path / ".ralph/logs/auth.output.txt").read_text()
    assert "2 in parallel" in told and "one attempt made" in told


def test_a_run_that_ends_at_once_says_what_it_said(waiting: Project) -> None:
    (waiting.folder / "go").touch()
    waiting.ralph("run", "auth", "--no-baseline")
    done = waiting.ralph("run", "auth", "--detach")
    if "runs in the background" in done.stdout:  # it was seen before it ended
        finish(waiting, started(done.stdout))
    else:
        assert "auth: complete" in done.stdout
    waiting.write("ralph.config.json", "{")
    broken = waiting.ralph("run", "auth", "--detach", code=1)
    assert "ralph.config.json" in broken.stderr and "Traceback" not in broken.stderr


def test_no_module_of_the_project_is_taken_for_one_of_ralphs_own(waiting: Project) -> None:
    for name in ("click", "ralph", "json"):
        waiting.write(f"{name}.py", f"open({str(waiting.folder / 'planted')!r}, 'w').close()\n")
    waiting.git("add", "-A")
    waiting.git("commit", "-qm", "Planted")
    pid = started(waiting.ralph("run", "auth", "--detach", "--no-baseline").stdout)
    finish(waiting, pid)
    assert not (waiting.folder / "planted").exists()


def test_watch_opens_at_once_and_the_run_goes_on_after_it(waiting: Project) -> None:
    with on_screen(waiting, "run", "auth", "--watch", "--no-baseline") as shown:
        shown.expect("▶ US-001", "I wait", "running")
        shown.press("q")
        assert shown.end() == 0
        text = shown.text
    assert b"The run goes on. Watch it again: `ralph watch auth`" in shown.raw and text
    pid = int(re.findall(rb"process (\d+)", shown.raw)[0])
    assert Path(f"/proc/{pid}").exists()
    finish(waiting, pid)
