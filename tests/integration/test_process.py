"""Programs are run to their end within their limits, and nothing that came from them stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralph.errors import RalphError
from ralph.process import spawn, table, tree
from ralph.process.blocking import capture_now, hand_over
from ralph.process.child import Child
from ralph.process.spawn import ExitKind, Limits, ProcessEnd, capture
from tests.conftest import wait_for
from tests.integration.conftest import FOREVER, alive, in_the_background, numbers, reap, until, wait_until_written

pytestmark = pytest.mark.usefixtures("nobody_left")

SOON = 15.0  # seconds: far less than FOREVER, enough for a busy machine

DAEMON = f"""
import os, sys, time
kind, exits = sys.argv[1], sys.argv[2:] != ["and stay"]
said, say = os.pipe()
if os.fork() == 0:
    os.setsid()
    if "double-forked" in kind and os.fork():
        os._exit(0)
    os.write(say, str(os.getpid()).encode())
    os.close(say)
    if "silent" in kind:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    if "without environment" in kind:
        os.execve("/bin/sleep", ["sleep", "{FOREVER}"], {{}})
    os.execv("/bin/sleep", ["sleep", "{FOREVER}"])
os.write(1, os.read(said, 20) + b"\\n")
if not exits:
    time.sleep({FOREVER})
"""
"""Leaves a process in a session of its own, tells its number, and exits; or stays, if it is told to."""


def run(folder: Path, *argv: str, **more: Any) -> tuple[ProcessEnd, bytes]:
    said = bytearray()
    ended = asyncio.run(spawn.run(argv, cwd=folder, env=os.environ, owner="test", out=said.extend, **more))
    return ended, bytes(said)


def shell(folder: Path, script: str, **more: Any) -> tuple[ProcessEnd, bytes]:
    return run(folder, "/bin/sh", "-c", script, **more)


def python(folder: Path, code: str, *args: str, **more: Any) -> tuple[ProcessEnd, bytes]:
    return run(folder, sys.executable, "-c", code, *args, **more)


def in_another_process(folder: Path, code: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run code of ours in a fresh interpreter, where nothing else disturbs it."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=True, **more
    )


def open_files() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - Path.iterdir would hold one open itself


# how a program ends


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("no-such-command-anywhere", 127), ("kill -9 $$", -9)]
)
def test_a_program_s_exit_code_is_told(tmp_path: Path, script: str, code: int) -> None:
    ended, _ = shell(tmp_path, script)

    assert (ended.how, ended.code) == (ExitKind.EXITED, code)


def test_the_total_time_limit_ends_the_whole_tree(tmp_path: Path) -> None:
    ended, said = shell(
        tmp_path,
        f"sleep {FOREVER} & echo $!; sh -c 'sleep {FOREVER} & echo $!; wait' & echo $!; echo $$; wait",
        limits=Limits(total=1.5),
    )

    assert ended.how is ExitKind.TIMED_OUT
    assert 1.5 <= ended.seconds < SOON
    pids = numbers(said)
    assert len(pids) == 4
    assert not [pid for pid in pids if alive(pid)]


def test_silence_beyond_the_idle_limit_ends_a_program(tmp_path: Path) -> None:
    ended, said = shell(tmp_path, f"echo still here; exec sleep {FOREVER}", limits=Limits(idle=0.5))

    assert ended.how is ExitKind.SILENT
    assert said == b"still here\n"
    assert ended.seconds < SOON


def test_trouble_that_lasts_too_long_ends_a_program(tmp_path: Path) -> None:
    children: list[Child] = []
    said = bytearray()

    def hear(data: bytes) -> None:
        said.extend(data)
        children[0].in_trouble(True)  # every time it says so; only the first time starts the clock

    async def ended() -> ProcessEnd:
        argv = ("/bin/sh", "-c", "while :; do echo no; sleep 0.1; done")
        limits = Limits(total=SOON, idle=SOON, trouble=0.5)
        more: Any = {"out": hear, "limits": limits, "started": children.append}
        return await spawn.run(argv, cwd=tmp_path, env=os.environ, owner="test", **more)

    assert asyncio.run(ended()).how is ExitKind.GAVE_UP
    assert said.count(b"no") > 2


def test_trouble_that_is_over_ends_nothing(tmp_path: Path) -> None:
    children: list[Child] = []

    def hear(data: bytes) -> None:
        children[0].in_trouble(b"yes" not in data)

    async def ended() -> ProcessEnd:
        argv = ("/bin/sh", "-c", "echo no; sleep 0.2; echo yes; sleep 0.8; echo yes")
        more: Any = {"out": hear, "limits": Limits(trouble=0.7), "started": children.append}
        return await spawn.run(argv, cwd=tmp_path, env=os.environ, owner="test", **more)

    assert asyncio.run(ended()).how is ExitKind.EXITED


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_program_that_keeps_talking_is_not_silent(tmp_path: Path, stream: str) -> None:
    heard = bytearray()

    ended, said = shell(
        tmp_path,
        f"for i in 1 2 3 4 5 6 7 8; do echo $i >&{stream}; sleep 0.2; done; exit 4",
        limits=Limits(idle=1.2),
        err=heard.extend,
    )

    assert (ended.how, ended.code) == (ExitKind.EXITED, 4)
    assert ended.seconds > 1.2
    assert numbers(said + bytes(heard)) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_program_that_ignores_being_asked_is_killed(tmp_path: Path) -> None:
    ended, said = shell(
        tmp_path,
        f"trap '' TERM; echo $$; sleep {FOREVER} & echo $!; wait; sleep {FOREVER}",
        limits=Limits(total=0.7, grace=0.3),
    )

    assert (ended.how, ended.code) == (ExitKind.TIMED_OUT, -signal.SIGKILL)
    assert len(numbers(said)) == 2
    assert not [pid for pid in numbers(said) if alive(pid)]


def test_a_stopped_program_is_ended_too(tmp_path: Path) -> None:
    ended, _ = shell(tmp_path, "kill -STOP $$", limits=Limits(total=0.5, grace=0.3))

    assert (ended.how, ended.code) == (ExitKind.TIMED_OUT, -signal.SIGKILL)


def test_a_program_that_is_asked_to_end_may_still_say_goodbye(tmp_path: Path) -> None:
    ended, said = shell(
        tmp_path,
        f"trap 'echo goodbye; exit 5' TERM; echo hello; while :; do sleep {FOREVER} & wait; done",
        limits=Limits(total=0.7),
    )

    assert (ended.how, ended.code) == (ExitKind.TIMED_OUT, 5)
    assert said.startswith(b"hello\n")
    assert b"goodbye\n" in said


def test_cancelling_ends_the_whole_tree(tmp_path: Path) -> None:
    said = bytearray()

    async def cancelled() -> None:
        task = asyncio.create_task(
            spawn.run(
                [sys.executable, "-c", DAEMON, "double-forked", "and stay"],
                cwd=tmp_path,
                env=os.environ,
                owner="test",
                out=said.extend,
                started=lambda child: said.extend(b"%d " % child.pid),
            )
        )
        await until(lambda: len(numbers(bytes(said))) == 2 and said.endswith(b"\n"))
        assert all(alive(pid) for pid in numbers(bytes(said)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert not [pid for pid in numbers(bytes(said)) if alive(pid)]


def test_a_program_that_said_its_last_word_and_hangs_is_ended_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawn, "LINGER", 0.3)
    ended, said = _with_last_word(tmp_path, f"echo 'the end'; exec sleep {FOREVER}")

    assert ended.how is ExitKind.LINGERED
    assert ended.seconds < SOON
    assert said == b"the end\n"


def test_a_program_that_ends_after_its_last_word_has_just_ended(tmp_path: Path) -> None:
    ended, _ = _with_last_word(tmp_path, "echo 'the end'; exit 6")

    assert (ended.how, ended.code) == (ExitKind.EXITED, 6)


def _with_last_word(folder: Path, script: str) -> tuple[ProcessEnd, bytes]:
    said = bytearray()
    children: list[Child] = []

    def listen(data: bytes) -> None:
        said.extend(data)
        if b"the end" in said:
            children[0].last_word()

    ended = asyncio.run(
        spawn.run(
            ["/bin/sh", "-c", script],
            cwd=folder,
            env=os.environ,
            owner="test",
            out=listen,
            started=children.append,
            limits=Limits(total=60),
        )
    )
    return ended, bytes(said)


# what a program leaves behind


@pytest.mark.parametrize(
    "kind",
    [
        "in its own session",
        "double-forked",
        "double-forked and silent",
        "double-forked without environment",
        "silent and without environment",
    ],
)
def test_what_a_program_left_running_ends_with_it(tmp_path: Path, kind: str) -> None:
    ended, said = python(tmp_path, DAEMON, kind)

    assert (ended.how, ended.code) == (ExitKind.EXITED, 0)
    (pid,) = numbers(said)
    assert not alive(pid)


def test_a_grandchild_that_holds_the_output_open_keeps_nobody_waiting(tmp_path: Path) -> None:
    began = time.monotonic()

    ended, said = shell(tmp_path, f"sleep {FOREVER} & echo $!; exit 7")

    assert (ended.how, ended.code) == (ExitKind.EXITED, 7)
    assert time.monotonic() - began < SOON
    assert not alive(numbers(said)[0])


def test_even_a_daemon_that_got_away_with_the_output_keeps_nobody_waiting(tmp_path: Path) -> None:
    done = in_another_process(
        tmp_path,
        f"""
import asyncio, os, sys
from pathlib import Path
from ralph.process import spawn
said = bytearray()
ended = asyncio.run(spawn.run([sys.executable, "-c", {DAEMON!r}, "double-forked"],
                              cwd=Path.cwd(), env=os.environ, owner="test", out=said.extend))
print(ended.how.value, said.decode())
""",
    )

    how, pid = done.stdout.split()
    assert how == "exited"
    os.kill(int(pid), signal.SIGKILL)  # no orphan came to that process, so this one is ours to end
    reap()


def test_what_is_born_while_the_tree_is_being_ended_is_ended_too(tmp_path: Path) -> None:
    code = f"""
import os, signal, time
def leave_another(*_):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep({FOREVER})
    os._exit(0)
signal.signal(signal.SIGTERM, leave_another)
print("ready", flush=True)
time.sleep({FOREVER})
"""

    ended, said = python(tmp_path, code, limits=Limits(idle=1.0, grace=2.0))

    assert ended.how is ExitKind.SILENT
    assert said.startswith(b"ready\n")
    assert not [pid for pid in numbers(said) if alive(pid)]


def test_ending_one_program_leaves_another_one_s_daemon_alone(tmp_path: Path) -> None:
    said = bytearray()

    async def both() -> None:
        argv = [sys.executable, "-c", DAEMON, "double-forked and silent", "and stay"]
        async with spawn.spawn(argv, cwd=tmp_path, env=os.environ, owner="test", out=said.extend):
            await until(lambda: said.endswith(b"\n"))
            for _ in range(3):
                await spawn.run(["true"], cwd=tmp_path, env=os.environ, owner="test", out=said.extend)
            assert alive(numbers(bytes(said))[0])

    asyncio.run(both())

    assert not alive(numbers(bytes(said))[0])


def test_no_zombies_are_left(tmp_path: Path) -> None:
    code = f"""
import os
said, say = os.pipe()
for number in range(20):
    if os.fork() == 0:
        if number % 2:
            os._exit(0)
        os.close(say)
        os.execv("/bin/sleep", ["sleep", "{FOREVER}"])
os.close(say)
os.read(said, 1)
"""

    python(tmp_path, code)

    assert psutil.Process().children() == []


def test_no_descriptors_are_left_open(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("x" * 1000)

    async def many() -> tuple[int, int]:
        before = 0
        for number in range(51):
            if number == 1:  # the first use opens what stays open for good
                before = open_files()
            rest: dict[str, Any] = {"cwd": tmp_path, "env": os.environ}
            await spawn.run(["cat"], owner="test", out=bytes, err=bytes, stdin=given, **rest)
            await capture(["cat"], stdin=b"y" * 1000, **rest)
            with pytest.raises(RalphError):
                await spawn.run(["no-such-command-anywhere"], owner="test", out=bytes, err=bytes, **rest)
        return before, open_files()

    before, after = asyncio.run(many())

    assert before == after


# what goes in and what comes out


def test_output_written_just_before_the_exit_is_complete(tmp_path: Path) -> None:
    for _ in range(5):
        _, said = python(tmp_path, "import os; os.write(1, b'x' * 60_000); os.write(1, b'the end'); os._exit(0)")

        assert len(said) == 60_007
        assert said.endswith(b"the end")


def test_megabytes_written_at_the_end_are_complete(tmp_path: Path) -> None:
    _, said = python(tmp_path, "import sys; sys.stdout.write('x' * 5_000_000 + 'the end')")

    assert len(said) == 5_000_007
    assert said.endswith(b"the end")


def test_both_streams_are_told_apart_or_taken_together(tmp_path: Path) -> None:
    heard = bytearray()
    _, apart = shell(tmp_path, "echo to out; echo to err >&2", err=heard.extend)
    _, together = shell(tmp_path, "echo to out; echo to err >&2")

    assert (apart, bytes(heard)) == (b"to out\n", b"to err\n")
    assert together == b"to out\nto err\n"


def test_a_hundred_megabytes_of_output_need_little_memory(tmp_path: Path) -> None:
    done = in_another_process(
        tmp_path,
        """
import asyncio, os, resource, sys
from pathlib import Path
from ralph.process import spawn
def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
total = 0
def count(data):
    global total
    total += len(data)
def run(size):
    asyncio.run(spawn.run(["head", "-c", str(size), "/dev/zero"], cwd=Path.cwd(), env=os.environ, owner="t", out=count))
run(1)
before = peak()
run(100_000_000)
print(total, peak() - before)
""",
    )

    total, growth = map(int, done.stdout.split())
    assert total == 100_000_001
    assert growth < 40_000_000


def test_a_program_whose_output_cannot_be_taken_is_ended_and_the_reason_is_told(tmp_path: Path) -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    children: list[Child] = []
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(
            spawn.run(
                ["/bin/sh", "-c", f"echo hello; exec sleep {FOREVER}"],
                cwd=tmp_path,
                env=os.environ,
                owner="test",
                out=full,
                started=children.append,
            )
        )

    assert not alive(children[0].pid)


def test_a_large_file_is_given_on_standard_input(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(os.urandom(5_000_000))

    _, said = run(tmp_path, "cat", stdin=given)

    assert said == given.read_bytes()


def test_a_program_may_leave_its_standard_input_unread(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(bytes(5_000_000))

    ended, _ = run(tmp_path, "true", stdin=given)

    assert ended.code == 0


def test_without_a_file_standard_input_is_empty(tmp_path: Path) -> None:
    ended, said = run(tmp_path, "cat", limits=Limits(total=SOON))

    assert (ended.how, said) == (ExitKind.EXITED, b"")


def test_a_missing_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(RalphError) as error:
        run(tmp_path, "no-such-agent")

    assert "'no-such-agent' was not found" in error.value.what
    assert "no-such-agent" in error.value.remedy


def test_a_command_that_may_not_be_run_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n")

    with pytest.raises(RalphError, match=r"agent\.sh' could not be started: Permission denied"):
        run(tmp_path, str(tmp_path / "agent.sh"))


def test_a_missing_folder_is_not_taken_for_a_missing_command(tmp_path: Path) -> None:
    with pytest.raises(RalphError) as error:
        run(tmp_path / "gone", "true")

    assert "was not found" not in error.value.what


# short programs


def test_a_short_program_s_output_is_taken_whole(tmp_path: Path) -> None:
    data = os.urandom(20_000_000)

    done = asyncio.run(
        capture(["/bin/sh", "-c", "cat; echo trouble >&2; exit 9"], cwd=tmp_path, env=os.environ, stdin=data)
    )

    assert (done.code, done.err) == (9, b"trouble\n")
    assert done.out == data


def test_a_short_program_without_input_does_not_wait_for_any(tmp_path: Path) -> None:
    done = asyncio.run(capture(["cat"], cwd=tmp_path, env=os.environ, seconds=SOON))

    assert (done.code, done.out) == (0, b"")


def test_a_short_program_that_hangs_is_named_and_ended(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"^sleep 300 … did not finish within"):
        asyncio.run(capture(["sleep", str(FOREVER)], cwd=tmp_path, env=os.environ, seconds=0.3))


def test_looking_with_a_missing_program_is_no_error(tmp_path: Path) -> None:
    assert capture_now(["/bin/sh", "-c", "echo seen; echo no >&2; exit 3"], cwd=tmp_path) == (3, b"seen\n")
    assert capture_now(["no-such-command-anywhere"], cwd=tmp_path) == (127, b"")


def test_a_missing_editor_is_named() -> None:
    assert hand_over(["true"]) == 0
    with pytest.raises(RalphError, match="no-such-editor"):
        hand_over(["no-such-editor"])


# finding what a killed run left


def test_the_mark_reaches_grandchildren(tmp_path: Path) -> None:
    _, first = shell(tmp_path, f"sh -c 'sh -c \"echo ${table.MARK}\"'")
    _, second = shell(tmp_path, f"echo ${table.MARK}")

    assert first.startswith(b"test.")
    assert second.startswith(b"test.")
    assert first != second


def test_what_a_killed_run_left_is_found_by_another_process_and_ended(tmp_path: Path) -> None:
    code = f"""
import asyncio, os, sys
from pathlib import Path
from ralph.process import spawn, tree
tree.adopt_orphans()
asyncio.run(spawn.run([sys.executable, "-c", {DAEMON!r}, "double-forked", "and stay"], cwd=Path.cwd(), env=os.environ,
                      owner="killed-run", out=Path("pids").write_bytes))
"""
    with in_the_background(sys.executable, "-c", code, cwd=tmp_path):
        (daemon,) = numbers(wait_until_written(tmp_path / "pids"))

    found = tree.marked("killed-run.")
    assert daemon in found
    assert len(found) == 2
    assert tree.marked("killed-ru.") == set()
    assert (table.mark_of(daemon) or "").startswith("killed-run.")

    left = asyncio.run(tree.end(found, grace=5))

    assert left == set()
    assert not [pid for pid in found if alive(pid)]
    assert tree.marked("killed-run.") == set()
    reap()


def test_the_hard_way_out_leaves_nothing_running(tmp_path: Path) -> None:
    done = in_another_process(
        tmp_path,
        f"""
import asyncio, os, sys
from pathlib import Path
from ralph.process import spawn, tree
async def main():
    tree.adopt_orphans()
    said = bytearray()
    argv = [sys.executable, "-c", {DAEMON!r}, "double-forked", "and stay"]
    async with spawn.spawn(argv, cwd=Path.cwd(), env=os.environ, owner="test", out=said.extend) as child:
        while not said.endswith(b"\\n"):
            await asyncio.sleep(0.01)
        print(child.pid, said.decode(), flush=True)
        tree.kill_everything()
        os._exit(0)
asyncio.run(main())
""",
    )

    pids = numbers(done.stdout)
    assert len(pids) == 2
    wait_for(lambda: not [pid for pid in pids if alive(pid)], what="all of them are gone")
    reap()


def test_a_process_is_told_from_a_later_one_with_its_number(tmp_path: Path) -> None:
    born = table.birth_of(os.getpid())
    with in_the_background("sleep", str(FOREVER)) as child:
        later = table.birth_of(child.pid)
        child.kill()
        wait_for(lambda: not alive(child.pid))
        gone = table.birth_of(child.pid)

    assert born == table.birth_of(os.getpid()) != ""
    assert later not in ("", born)
    assert gone == ""


# where Linux's own ways are missing


def test_ours_are_found_however_often_one_has_looked_and_strangers_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = tree.read
    monkeypatch.setattr(tree, "read", lambda processes: reads.append(len(found := list(processes))) or read(found))

    async def look() -> tuple[set[int], set[int], set[int]]:
        said = bytearray()
        argv = [sys.executable, "-c", DAEMON, "in its own session", "and stay"]
        async with spawn.spawn(argv, cwd=tmp_path, env=os.environ, owner="test", out=said.extend, grace=0.2) as child:
            first = tree.family(child.pid, child.mark)
            while not said.endswith(b"\n"):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
            return first, tree.family(child.pid, child.mark), {child.pid, *numbers(said.decode())}

    first, second, wanted = asyncio.run(look())

    assert first <= wanted
    assert second == wanted
    assert 1 in {pid for pid, _ in tree._strangers}
    assert not {os.getpid(), *wanted}.intersection(pid for pid, _ in tree._strangers)
    assert reads[1] < len(table.present())


def test_the_process_table_reads_the_same_without_proc(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", DAEMON, "in its own session", "and stay")
    with in_the_background(*argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        daemon = int(parent.stdout.readline())
        with in_the_background("true") as zombie:
            wait_for(lambda: not alive(zombie.pid))
            wanted = {os.getpid(), parent.pid, daemon, zombie.pid}
            here = {entry for entry in table.table() if entry.pid in wanted}
            elsewhere = {entry for entry in table.table_elsewhere() if entry.pid in wanted}
        os.kill(daemon, signal.SIGKILL)

    assert elsewhere == here
    rows = {entry.pid: entry for entry in here}
    assert rows.keys() == wanted
    assert rows[daemon].parent == parent.pid
    assert rows[daemon].session == daemon
    assert [entry.pid for entry in here if entry.dead] == [zombie.pid]
    reap()


def test_an_exit_is_noticed_without_a_process_descriptor() -> None:
    with in_the_background("sleep", str(FOREVER)) as child:
        tree.register(child.pid, "test.0")
        for wait in (tree.exit_of, tree._exit_by_polling):
            began = time.monotonic()
            asyncio.run(wait(child.pid, 0.2))
            assert 0.2 <= time.monotonic() - began < SOON
        child.terminate()
        for wait in (tree.exit_of, tree._exit_by_polling):
            asyncio.run(wait(child.pid, None))
        assert child.wait() == -signal.SIGTERM, "it stayed to be reaped"
        tree.forget(child.pid)
        for wait in (tree.exit_of, tree._exit_by_polling):
            asyncio.run(wait(child.pid, None))


def test_without_process_descriptors_a_program_is_run_and_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    quick, said = shell(tmp_path, "echo hello; exit 3")
    slow, pids = shell(
        tmp_path,
        f"trap '' TERM; sleep {FOREVER} & echo $! $$; wait; sleep {FOREVER}",
        limits=Limits(total=0.7, grace=0.3),
    )
    left, daemon = python(tmp_path, DAEMON, "double-forked")

    assert (quick.how, quick.code, said) == (ExitKind.EXITED, 3, b"hello\n")
    assert (slow.how, slow.code) == (ExitKind.TIMED_OUT, -signal.SIGKILL)
    assert (left.how, left.code) == (ExitKind.EXITED, 0)
    assert len(numbers(pids + daemon)) == 3
    assert not [pid for pid in numbers(pids + daemon) if alive(pid)]


# a program that Ralph talks to while it runs


def test_a_program_is_written_to_while_it_runs(tmp_path: Path) -> None:
    """What does not fit into the pipe waits, and nothing is lost."""
    children: list[Child] = []
    seen: list[int] = []

    def begin(child: Child) -> None:
        children.append(child)
        assert child.input
        for _ in range(30):
            child.input.write(b"x" * 100_000)
        seen.append(child.input.waiting)
        child.input.end()
        child.input.write(b"too late")

    ended, said = shell(tmp_path, "sleep 0.1; wc -c; echo bye", stdin=spawn.OpenInput(), started=begin)

    assert said.split() == [b"3000000", b"bye"]
    assert ended.code == 0
    assert seen[0] > 2_000_000


def test_a_program_that_does_not_read_is_no_problem(tmp_path: Path) -> None:
    def begin(child: Child) -> None:
        assert child.input
        child.input.write(b"x" * 3_000_000)

    deaf, _ = shell(tmp_path, f"exec sleep {FOREVER}", stdin=spawn.OpenInput(), started=begin, limits=Limits(total=0.2))
    closed, said = shell(tmp_path, "exec 0<&-; sleep 0.1; echo bye", stdin=spawn.OpenInput(), started=begin)

    assert deaf.how is ExitKind.TIMED_OUT
    assert (closed.code, said) == (0, b"bye\n")


def test_parting_comes_before_the_end_of_the_tree_and_is_never_cut_short(tmp_path: Path) -> None:
    alive_at_parting: list[bool] = []

    async def interrupted() -> None:
        children: list[Child] = []

        async def part() -> None:
            await asyncio.sleep(0.1)
            alive_at_parting.append(children[0].running())

        argv = ["sleep", str(FOREVER)]
        work = spawn.run(
            argv, cwd=tmp_path, env=os.environ, owner="t", out=bytearray().extend, started=children.append, parting=part
        )
        task = asyncio.create_task(work)
        await until(lambda: children)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not children[0].running()

    asyncio.run(interrupted())
    assert alive_at_parting == [True]


# Ctrl-Z


SUSPENDABLE = """
import asyncio, os
from pathlib import Path
from ralph.process import spawn
from ralph.process.suspend import suspending

async def main():
    with suspending():
        argv = ("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i >> ticks; sleep 0.1; done; echo over")
        limits = spawn.Limits(total=1.9, idle=1.9)
        ended = await spawn.run(argv, cwd=Path.cwd(), env=os.environ, owner="test", out=lambda _: None, limits=limits)
        print(ended.how.value, ended.seconds < 1.9)
asyncio.run(main())
"""


def test_a_suspended_ralph_suspends_its_programs_and_their_time_limits(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks"
    command = (sys.executable, "-c", SUSPENDABLE)
    with in_the_background(*command, cwd=tmp_path, stdout=subprocess.PIPE, process_group=0) as process:
        wait_until_written(ticks)
        process.send_signal(signal.SIGTSTP)
        wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        (child, *_) = psutil.Process(process.pid).children()
        assert child.status() == psutil.STATUS_STOPPED
        before = ticks.read_text()
        time.sleep(2)  # longer than the time limits
        assert ticks.read_text() == before

        process.send_signal(signal.SIGCONT)

        assert process.communicate(timeout=30)[0] == b"exited True\n"
    assert ticks.read_text().split() == list("12345678")


def test_without_a_shell_that_could_continue_it_nothing_is_suspended(tmp_path: Path) -> None:
    command = (sys.executable, "-c", SUSPENDABLE)
    with in_the_background(*command, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True) as process:
        wait_until_written(tmp_path / "ticks")
        process.send_signal(signal.SIGTSTP)
        assert process.communicate(timeout=30)[0] == b"exited True\n"
