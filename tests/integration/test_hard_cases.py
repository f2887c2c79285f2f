"""What real agents, real repositories and bad luck come up with: every case here once went wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ralph.agent import call
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.process import spawn, tree
from ralph.process.redaction import Secrets
from ralph.process.secret_values import secrets_in
from ralph.process.spawn import Limits, capture
from tests.conftest import Project
from tests.integration import test_agent_call
from tests.integration.conftest import (
    FOREVER,
    alive,
    executable,
    in_the_background,
    numbers,
    until,
)
from tests.integration.test_process import DAEMON, python, run, shell
from tests.integration.test_services import Web, failure

# processes


def test_a_program_is_run_where_python_has_no_waitid(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(os, "waitid")
    monkeypatch.setattr(sys, "platform", "darwin")
    ended, said = shell(tmp_path, "echo hi; exit 3")
    assert (ended.code, said) == (3, b"hi\n")


def test_a_zombie_of_somebody_else_is_not_waited_for() -> None:
    code = "import subprocess,time\np=subprocess.Popen(['sleep','300']); print(p.pid,flush=True); time.sleep(300)"
    with in_the_background(sys.executable, "-c", code, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        assert asyncio.run(tree.end({pid}, grace=1)) == set()


def test_cancelling_twice_still_ends_the_tree(tmp_path: Path) -> None:
    said = bytearray()

    async def twice() -> None:
        task = asyncio.create_task(
            spawn.run(
                ["/bin/sh", "-c", f"trap '' TERM; echo $$; while :; do sleep {FOREVER}; done"],
                cwd=tmp_path,
                env=os.environ,
                owner="test",
                out=said.extend,
                limits=Limits(grace=0.5),
            )
        )
        await until(lambda: said.endswith(b"\n"))
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(twice())
    pid = numbers(bytes(said))[0]
    still = alive(pid)
    if still:
        os.killpg(pid, signal.SIGKILL)
    assert not still


def test_a_short_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(RalphError):
        asyncio.run(
            capture(["sh", "-c", f"sleep {FOREVER} & echo $! > pid; wait"], cwd=tmp_path, env=os.environ, seconds=0.5)
        )
    pid = int((tmp_path / "pid").read_text())
    still = alive(pid)
    if still:
        os.kill(pid, signal.SIGKILL)
    assert not still


def test_a_background_writer_of_a_short_program_does_not_fill_the_memory(tmp_path: Path) -> None:
    done = asyncio.run(capture(["sh", "-c", "yes & sleep 0.3; exit 0"], cwd=tmp_path, env=os.environ))
    assert len(done.out) < 2_000_000_000  # the real complaint: unbounded, and the event loop stands still
    began = time.monotonic()
    asyncio.run(capture(["sh", "-c", "yes & exit 0"], cwd=tmp_path, env=os.environ))
    assert time.monotonic() - began < 5


def test_what_leaves_a_successor_whenever_it_is_asked_to_end_is_ended(tmp_path: Path, nobody_left) -> None:
    code = f"""
import os, signal, time
def again(*_):
    if os.fork() == 0:
        os.setsid()
        os.write(1, b"%d\\n" % os.getpid())
        while True: time.sleep({FOREVER})
    os._exit(0)
signal.signal(signal.SIGTERM, again)
os.write(1, b"ready\\n")
time.sleep({FOREVER})
"""
    _, said = python(tmp_path, code, limits=Limits(idle=1.0, grace=2.0))
    assert not [pid for pid in numbers(said) if alive(pid)]


def test_a_missing_prompt_is_no_traceback_and_no_leak(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RalphError):
        run(tmp_path, "cat", stdin=tmp_path / "gone")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_service_s_daemon_without_environment_survives_a_gate(tmp_path: Path, nobody_left) -> None:
    said = bytearray()

    async def both() -> None:
        argv = [sys.executable, "-c", DAEMON, "double-forked silent without environment", "and stay"]
        async with spawn.spawn(argv, cwd=tmp_path, env=os.environ, owner="test", out=said.extend):
            await until(lambda: said.endswith(b"\n"))
            await spawn.run(["true"], cwd=tmp_path, env=os.environ, owner="test", out=said.extend)
            assert alive(numbers(bytes(said))[0])

    asyncio.run(both())


def test_nobody_slips_away_while_the_process_table_is_read(tmp_path: Path, nobody_left) -> None:
    for _ in range(100):
        shell(tmp_path, "for i in 1 2 3 4 5 6 7 8 9 10; do (true &); (sh -c 'sleep 0.01 &' &); done")
        assert psutil.Process().children() == []


# environment, agent, services, output


def test_an_author_s_name_is_no_secret() -> None:
    assert not secrets_in({"GIT_AUTHOR_NAME": "Developer", "GIT_AUTHOR_EMAIL": "ralph@localhost"})


def test_the_rest_of_a_longer_secret_does_not_leak() -> None:
    redactor = Secrets(["abcdefghij", "abcdefgh"]).stream()
    assert redactor.feed(b"abcdefgh") + redactor.feed(b"ij") + redactor.flush() == b"[secret]"


def test_a_name_that_is_no_text_can_be_written_to_the_journal() -> None:
    Secrets(["abcdefgh"]).text("latin-\udce9.txt")


def test_a_bare_name_in_the_project_is_not_a_program(tmp_path: Path) -> None:
    executable(tmp_path / "agent.sh", "#!/bin/sh\necho here\n")
    with pytest.raises(RalphError, match=r"'agent\.sh' was not found"):
        call.check_installed(Provider(command="agent.sh"), tmp_path)
    call.check_installed(Provider(command="./agent.sh"), tmp_path)
    assert test_agent_call.ask(tmp_path, Provider(command="./agent.sh")).tail == "here"


def test_a_service_s_last_words_are_whole(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "!secret-secret")
    assert failure(tmp_path, Web(tmp_path).service(start="printf 'cannot start!'; exit 3")).endswith("cannot start!")


def test_a_restarted_service_s_failure_is_told_with_its_own_words(tmp_path: Path) -> None:
    service = Web(tmp_path).service(
        start='test -f second && life=second || life=first; touch second; echo "error: $life life"; seq 100; exit 1'
    )
    failure(tmp_path, service)
    assert "first life" not in failure(tmp_path, service)


# git


def test_looking_is_not_misled_by_git_dir(person: Project, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert git_read.branches(person.path).keys() == {"main"}
