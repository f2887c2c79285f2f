"""`ralph logs`: what a run did, from its journal, also from another terminal while it does it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RALPH, VERIFIED, Project, does, processes_in, wait_for

LONG_AGO = "2026-05-01T09:30:00.125Z"
OLD = "20200101-000000-00000000"


def lines_of(text: str) -> list[str]:
    """What is said, without the time of day before each line."""
    return [line[len("12:34:56 ") :] for line in text.splitlines() if line.strip()]


@pytest.fixture
def waiting(project: Project) -> Project:
    """Two stories whose agents go on only when the test says so."""
    project.config("true")
    project.stories("One", "Two")
    project.script(waits("US-001", "one.txt"), waits("US-002", "two.txt"), VERIFIED)
    return project


def waits(story: str, name: str) -> dict[str, Any]:
    run = f"touch $RALPH_ROOT/{story}.begun; while ! test -f $RALPH_ROOT/{story}.go; do sleep 0.02; done"
    return does(story, name, say=[f"I work on {story}."], run=[run])


def test_a_run_is_followed_from_another_terminal_line_by_line(waiting: Project) -> None:
    run = waiting.start("run", "auth")
    wait_for(lambda: waiting.exists("US-001.begun"))
    follower = waiting.start("logs", "--follow")
    as_json = waiting.start("logs", "-f", "--json")
    for story in ("US-001", "US-002"):
        wait_for(lambda story=story: waiting.exists(f"{story}.begun"))
        waiting.write(f"{story}.go", "")
    told, _ = run.communicate(timeout=120)
    followed, _ = follower.communicate(timeout=60)
    assert run.returncode == follower.returncode == 0, told + followed
    shown = lines_of(followed)
    assert shown == lines_of(told)[: len(shown)]
    assert "auth: complete" in followed
    assert any(line.startswith("  ✓ US-002 passed") for line in shown)
    found = [json.loads(line) for line in as_json.communicate(timeout=60)[0].splitlines()]
    assert found == waiting.events()
    assert [event["seq"] for event in found] == list(range(1, len(found) + 1))


def test_every_event_of_an_attempt_says_which_and_names_the_agents_words(waiting: Project) -> None:
    for story in ("US-001", "US-002"):
        waiting.write(f"{story}.go", "")
    waiting.ralph("run", "auth")
    events = waiting.events()
    assert {event["target"] for event in events} == {"auth"}
    assert {event["run"] for event in events} == {path.name for path in (waiting.path / ".ralph/logs").glob("2*")}
    for name in ("step_started", "agent_started", "agent_ended", "gate_started", "gate_ended", "landed"):
        found = [event for event in waiting.events(name) if event["work"].startswith("US-")]
        assert {(event["work"], event["attempt"]) for event in found} == {("US-001", 1), ("US-002", 1)}, name
    first = waiting.events("agent_started")[0]
    assert Path(first["words"]).name == "US-001-1.agent.words.txt"
    assert "I work on US-001." in Path(first["words"]).read_text()


def test_a_killed_run_ends_what_follows_it(waiting: Project) -> None:
    run = waiting.start("run", "auth")
    wait_for(lambda: waiting.exists("US-001.begun"))
    follower = waiting.start("logs", "--follow")
    assert follower.stdout
    wait_for_line(follower, "US-001 One")
    run.kill()
    run.communicate(timeout=60)
    rest, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert "The run was killed: its process no longer exists." in rest
    waiting.write("US-001.go", "")  # its agent outlived it
    wait_for(lambda: not processes_in(waiting.path))


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"it never said {text!r}")


def test_on_a_terminal_the_agents_own_words_are_shown(waiting: Project) -> None:
    run = waiting.start("run", "auth")
    wait_for(lambda: waiting.exists("US-001.begun"))
    ours, theirs = pty.openpty()
    command = [str(RALPH), "logs", "--follow"]
    env = {**waiting.env, "COLUMNS": "200"}
    follower = subprocess.Popen(command, cwd=waiting.path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"I work on US-001." not in shown:
        shown += os.read(ours, 4096)
    follower.send_signal(signal.SIGINT)
    for story in ("US-001", "US-002"):
        waiting.write(f"{story}.go", "")
    assert follower.wait(timeout=60) == 130
    os.close(ours)
    run.communicate(timeout=120)
    assert run.returncode == 0, "whoever follows a run does not disturb it"


def test_a_run_that_has_ended_can_be_followed_to_its_end(waiting: Project) -> None:
    for story in ("US-001", "US-002"):
        waiting.write(f"{story}.go", "")
    told = lines_of(waiting.ralph("run", "auth").stdout)
    [journal] = (waiting.path / ".ralph/logs").glob("2*/journal.jsonl")
    journal.write_text(re.sub(r'("at": ?)"[^"]*"', rf'\1"{LONG_AGO}"', journal.read_text()))
    followed = waiting.ralph("logs", "--follow").stdout
    shown = lines_of(followed)
    assert shown == told[: len(shown)]
    assert len(shown) > 8
    then = datetime.fromisoformat(LONG_AGO).astimezone().strftime("%H:%M:%S")
    assert {line[:8] for line in followed.splitlines() if line} == {then}, "when it happened, not when it is read"
    events = waiting.ralph("logs", "--events").stdout
    assert re.search(r"total=calls \d, unpriced \d", events)
    assert not re.search(r"None|[{}\[\]]", events), "words, not the values of a program"


def test_an_old_journal_and_a_damaged_one_are_shown_as_far_as_they_can_be_read(project: Project) -> None:
    folder = f".ralph/logs/{OLD}"
    project.write(
        f"{folder}/journal.jsonl",
        '{"event": "run_started", "at": "2020-01-01T10:11:12.000Z", "run": "x", "target": "auth", "tasks": 1}\n'
        '{"event": "gate_ended", "work": "US-001", "result": {"name": "t", "command": "make", "passed": true, '
        '"seconds": 1}}\n'
        '{"event": "from_the_future", "colour": "\\u001b[31mred\\u001b]0;title\\u0007"}\n'
        '{"event": "attempt_ended", "verdict"',
    )
    done = project.ralph("logs", "--events")
    assert "10:11:12 run_started" in done.stdout
    assert "✓ make" in done.stdout
    assert "from_the_future  colour=red" in done.stdout
    assert "\x1b" not in done.stdout
    assert "An older Ralph wrote this journal" in done.stderr
    assert "1 line of the journal could not be read" in done.stderr
    assert f"{OLD}  auth" in project.ralph("logs", "--list").stdout
    assert "auth" in project.ralph("logs", "--follow").stdout
    assert project.ralph("logs", "--json").stdout.count("\n") == 3


def test_a_run_that_is_unknown_is_said_to_be(project: Project) -> None:
    assert "There are no runs yet." in project.ralph("logs", "--follow", code=1).stderr
    assert "There is no run 'nonsense'." in project.ralph("logs", "nonsense", code=1).stderr


def test_a_run_is_told_afterwards_as_its_terminal_showed_it(waiting: Project) -> None:
    for story in ("US-001", "US-002"):
        waiting.write(f"{story}.go", "")
    told = lines_of(waiting.ralph("run", "auth").stdout)
    shown = lines_of(waiting.ralph("logs").stdout.rpartition("→ ")[0])
    assert shown == told[: len(shown)] and len(shown) > 8
    [run] = (waiting.path / ".ralph/logs").glob("2*")

    one = waiting.ralph("logs", "--task", "US-002").stdout
    assert "US-002 Two" in one and "US-001" not in one
    assert waiting.ralph("logs", "--since", "1h").stdout == waiting.ralph("logs").stdout
    assert waiting.ralph("logs", "--since", "2999-01-01").stdout == f"→ {run}\n"
    assert "'soon' is not a time." in waiting.ralph("logs", "--since", "soon", code=1).stderr
    events = waiting.ralph("logs", "--task", "US-001", "--json").stdout.splitlines()
    assert {json.loads(line)["work"] for line in events} == {"US-001"}

    said = waiting.ralph("logs", "US-001/1").stdout
    assert "I work on US-001." in said and "US-001-1.agent.words.txt" in said
    missing = waiting.ralph("logs", "US-001/9", code=1).stderr
    assert "No run has an attempt US-001/9." in missing
    (run / "US-001-1.agent.words.txt").unlink()
    (run / "US-001-1.agent.log").unlink()
    assert "is gone" in waiting.ralph("logs", "US-001/1", code=1).stderr


def test_a_task_is_looked_for_in_earlier_runs_too(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    project.ralph("run", "auth", "--once")
    project.ralph("run", "auth")
    assert "US-001 passed" in project.ralph("logs", "--task", "US-001").stdout
