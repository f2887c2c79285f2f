"""Ralph is killed or suspended in the middle of a run, and so is everything that it started."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.acceptance.test_request_plan import Terminal
from tests.acceptance.test_services import answers, prepare
from tests.conftest import VERIFIED, Project, does, processes_in, wait_for, warden_of


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_four_agents_and_a_service_end_with_ralph(project: Project, number: signal.Signals) -> None:
    """The first task is in its UI gate, with its service; agents are at work on four others."""
    port = prepare(project)
    config = project.read("ralph.config.json").replace(
        '"ui": [', f'"ui": ["touch {project.folder}/in-gate; sleep 60", '
    )
    project.write("ralph.config.json", config)
    project.stories({"title": "Page", "tags": ["ui"]}, "Two", "Three", "Four", "Five")
    busy = "echo >> $HOME/../busy; (env -i setsid sleep 300 >/dev/null 2>&1 &); trap '' TERM; sleep 300"
    others = (does(f"US-{task:03}", f"{task}.txt", run=[busy]) for task in range(2, 6))
    project.script(does("US-001", "one.txt"), *others)
    at_work = project.folder / "busy"
    run = project.start("run", "auth", "--jobs", "5", "--no-baseline")
    wait_for((project.folder / "in-gate").exists)
    wait_for(lambda: at_work.exists() and len(at_work.read_text()) == 4)
    assert answers(port)
    warden = warden_of(run.pid)
    assert warden

    run.send_signal(number)
    run.communicate(timeout=60)

    wait_for(lambda: not processes_in(project.folder), seconds=10, what="all of them are gone")
    wait_for(lambda: not psutil.pid_exists(warden), what="the warden is gone too")
    assert not answers(port)


@contextmanager
def shell(project: Project) -> Iterator[Terminal]:
    """An interactive shell in a terminal of its own."""
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    command = ["/bin/sh", "-c", f"exec sh -i <{name} >{name} 2>&1"]
    process = subprocess.Popen(command, cwd=project.path, env={**project.env, "TERM": "dumb"}, start_new_session=True)
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def states(project: Project, person: Terminal) -> list[str]:
    """What all processes of a run do; one that is starting another one waits for it even when that is suspended."""
    pids = (pid for pid in processes_in(project.folder) if pid != person.process.pid)
    return [psutil.Process(pid).status() for pid in pids]


def test_ctrl_z_suspends_the_agent_and_fg_continues_it(project: Project) -> None:
    ticks = project.folder / "ticks"
    tick = "i=0; while [ $i -lt 20 ]; do echo >> $HOME/../ticks; sleep 0.1; i=$((i+1)); done"
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt", run=[tick]), VERIFIED)
    with shell(project) as person:
        person.say("ralph run auth")
        wait_for(ticks.exists)
        person.say("\x1a")
        person.expect("Stopped")
        wait_for(lambda: set(states(project, person)) <= {psutil.STATUS_STOPPED, psutil.STATUS_DISK_SLEEP})
        before = ticks.read_text()
        assert len(states(project, person)) >= 3
        assert ticks.read_text() == before

        person.say("fg")
        person.expect("complete")
        person.say("exit")
        person.process.wait(20)
    assert len(ticks.read_text()) == 20
