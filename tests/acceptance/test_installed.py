"""The installed command, a new Python for each call: other tests fork from a process that has imported it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from ralph.cli.app import COMMANDS
from tests import warm
from tests.acceptance import requests, sessions, specs, test_crashes, test_requirements_crashes, test_specs_crashes
from tests.conftest import VERIFIED, Project, does, wait_for


@pytest.fixture
def here(project: Project) -> Project:
    project.installed = True
    return project


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_can_be_imported_alone(here: Project, name: str) -> None:
    assert f"Usage: ralph {name}" in here.ralph(name, "--help").stdout


def test_a_feature_from_the_first_run_to_the_last_look(here: Project) -> None:
    test_crashes.prepare(here)
    here.write("notes.txt", "a person's\n")
    here.ralph("run", "auth")
    test_crashes.check(here)
    for look in (["status"], ["next"], ["attempts", "auth"], ["logs"], ["learnings", "auth"], ["worktrees"], ["clean"]):
        here.ralph(*look)
    assert "All gates are green" in here.ralph("verify", "auth").stdout
    here.ralph("validate")


def test_specs(here: Project) -> None:
    test_specs_crashes.prepare(here)
    here.ralph("start", "build", code=3)
    test_specs_crashes.check(here)
    assert specs.statuses(here)["b"] == "completed"


def test_requirements(here: Project) -> None:
    test_requirements_crashes.prepare(here)
    here.ralph("run", code=3)
    test_requirements_crashes.check(here)


def test_a_session(here: Project) -> None:
    sessions.plays(here)
    sessions.plan(here, "task-1")
    sessions.session(here)
    assert sessions.work(here) == ["feat: task-1 - Do task-1"]


def test_a_request(here: Project) -> None:
    here.config("true")
    here.script(*requests.usual())
    here.ralph("plan", requests.REQUEST, "--yes")
    here.git("add", "-A")
    here.git("commit", "-qm", "Plan")
    here.ralph("start")
    assert len(requests.work(here)) == 3


@pytest.mark.parametrize("installed", [True, False])
def test_ctrl_c(project: Project, installed: bool) -> None:
    project.installed = installed
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "a.txt", times=1, run=["touch $HOME/../begun; sleep 60"]), VERIFIED)
    run = project.start("run", "auth")
    wait_for((project.folder / "begun").exists)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130, out


def test_as_a_module(project: Project) -> None:
    done = subprocess.run([sys.executable, "-m", "ralph", "--help"], capture_output=True, text=True)
    assert "Usage: ralph" in done.stdout


SHOW = """
import os, signal, sys, threading
print(os.getcwd(), sorted(os.environ.items()), sys.argv[1:], sys.path[1:], sys.flags)
print(sorted(os.listdir("/proc/self/fd"))[:-1], os.getpgrp(), os.getsid(0), os.umask(0), threading.active_count())
print([(s.encoding, s.errors, s.line_buffering, s.buffer.fileno()) for s in (sys.stdin, sys.stdout, sys.stderr)])
print([signal.getsignal(number).__class__ for number in sorted(signal.valid_signals())], sys.stdin.read())
sys.exit(7)
"""


def test_a_fork_is_as_if_it_had_been_started_from_scratch(project: Project) -> None:
    """Its folder, variables, arguments, descriptors, streams, group, signals and exit code."""
    seen = []
    for project.installed in (True, False):
        done = project.run("a", "b", stdin="told", env={"MORE": "ä"}, before=SHOW)
        seen.append((done.returncode, done.stdout.splitlines(), done.stderr))
    assert seen[0] == seen[1]
    assert seen[0][0] == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_fork_ends_by_the_signal_that_it_is_sent(project: Project, number: signal.Signals) -> None:
    before = f"import os; os.kill(os.getpid(), {int(number)})"
    assert project.run("--version", before=before).returncode == -number


def test_a_variable_that_python_itself_reads_gets_a_python_of_its_own(project: Project) -> None:
    assert warm.needs_an_exec({**project.env, "PYTHONUTF8": "0"})
    assert warm.needs_an_exec({**project.env, "LANG": "C"})
    assert not warm.needs_an_exec(project.env)
