"""When Ralph dies in any way, a warden ends what it started; and the warden is itself gone afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph.process import brand, cgroup, sweep, warden
from tests.conftest import wait_for, warden_of
from tests.integration.conftest import FOREVER, alive, executable, in_the_background, numbers, wait_until_written

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks at /proc")

GUARDED = """
import asyncio, os, sys
from contextlib import AsyncExitStack
from pathlib import Path
from ralph.process import spawn
from ralph.process.warden import guarding

async def main():
    with guarding(sys.argv[1]):
        while "GROUPED" in os.environ and "ralph-" not in Path("/proc/self/cgroup").read_text():
            await asyncio.sleep(0.01)
        async with AsyncExitStack() as stack:
            for script in sys.argv[3:]:
                argv = ("/bin/sh", "-c", script)
                program = spawn.spawn(argv, cwd=Path.cwd(), env=os.environ, owner=sys.argv[1], out=print, grace=1)
                await stack.enter_async_context(program)
            while not Path(sys.argv[2]).exists():
                await asyncio.sleep(0.02)
asyncio.run(main())
"""
"""A Ralph: it starts shell scripts, and ends them when a file appears."""

PLAIN = f"echo $$ >> pids; exec sleep {FOREVER}"
STUBBORN = f"trap '' TERM; echo $$ >> pids; while :; do sleep {FOREVER}; done"
DAEMON = f"(setsid sh -c 'echo $$ >> pids; exec sleep {FOREVER}' >/dev/null 2>&1 &); exit"
UNKNOWN = f"(env -i setsid sh -c 'echo $$ >> pids; exec sleep {FOREVER}' >/dev/null 2>&1 &); exit"
UNBRANDED = UNKNOWN.replace("echo", f"{sys.executable} {{unbrand}} $$; echo")
TIDY = """
import os, signal, sys, time
def tidy(*_):
    os.remove("lock")
    sys.exit()
signal.signal(signal.SIGTERM, tidy)
for name, text in (("lock", ""), ("pids", f"{os.getpid()}\\n")):
    with open(name, "w") as file:
        file.write(text)
time.sleep(300)
"""
UNBRAND = f"import resource, sys; resource.prlimit(int(sys.argv[1]), {brand.LIMIT}, (-1, -1))"


@contextmanager
def ralph(folder: Path, *scripts: str, owner: str = "", **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Ralph whose programs have all started: each writes its number into `pids`."""
    pids = folder / "pids"
    before = len(numbers(pids.read_text())) if pids.exists() else 0
    command = (
        sys.executable,
        "-c",
        GUARDED,
        f"{folder.parent.name}-{folder.name}{owner}",
        str(folder / "over"),
        *scripts,
    )
    with in_the_background(*command, cwd=folder, env=os.environ | variables, start_new_session=True) as process:
        wait_for(lambda: pids.exists() and len(numbers(pids.read_text())) == before + len(scripts))
        yield process


def left(folder: Path) -> list[int]:
    return [pid for pid in numbers((folder / "pids").read_text()) if alive(pid)]


def files_of(process: psutil.Process) -> set[str]:
    opened = (str(path.readlink()) for path in Path(f"/proc/{process.pid}/fd").iterdir())
    return {name for name in opened if not name.startswith("pipe:")}


def all_gone(folder: Path) -> None:
    wait_for(lambda: not left(folder), what="everything that it started is gone")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_whatever_ends_ralph_s_whole_group_nothing_is_left_running(tmp_path: Path, number: signal.Signals) -> None:
    with ralph(tmp_path, PLAIN, STUBBORN, DAEMON, UNKNOWN) as process:
        warden = warden_of(process.pid)
        assert len(left(tmp_path)) == 4
        os.killpg(process.pid, number)
        all_gone(tmp_path)
    wait_for(lambda: not alive(warden), what="the warden is gone too")


def test_a_suspended_ralph_that_is_killed_leaves_nothing_either(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN, UNKNOWN) as process:
        for pid in (*left(tmp_path), process.pid):
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        all_gone(tmp_path)


def test_a_program_has_a_moment_to_clean_up(tmp_path: Path) -> None:
    tidy = executable(tmp_path / "tidy.py", TIDY)
    with ralph(tmp_path, f"exec {sys.executable} {tidy}") as process:
        assert (tmp_path / "lock").exists()
        process.kill()
        all_gone(tmp_path)
    assert not (tmp_path / "lock").exists()


def test_after_a_normal_end_the_warden_is_gone_and_has_ended_nothing(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN) as process, in_the_background("sleep", str(FOREVER)) as other:
        warden = warden_of(process.pid)
        assert warden
        (tmp_path / "over").touch()
        assert process.wait(20) == 0
        wait_for(lambda: not alive(warden))
        assert alive(other.pid)
    assert not left(tmp_path)


def test_a_warden_that_somebody_has_stopped_is_gone_after_a_normal_end(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN) as process:
        warden = warden_of(process.pid)
        os.kill(warden, signal.SIGSTOP)
        (tmp_path / "over").touch()
        assert process.wait(20) == 0
        wait_for(lambda: not alive(warden), what="the warden is gone")


def is_another(pid: int, first: int, ralph: int) -> bool:
    """Whether a warden is a new one, and no child of Ralph's: the shell that starts it is one for a moment."""
    try:
        return pid not in (0, first) and psutil.Process(pid).ppid() != ralph
    except psutil.NoSuchProcess:
        return False


def test_a_warden_that_is_ended_is_replaced(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN, UNKNOWN) as process:
        first = warden_of(process.pid)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(first, number)
        assert warden_of(process.pid) == first, "what ends Ralph's group or session does not end it"
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: is_another(warden_of(process.pid), first, process.pid))
        process.kill()
        all_gone(tmp_path)


def test_two_at_once_each_have_their_own(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN, owner="one") as first:
        mine = left(tmp_path)
        with ralph(tmp_path, PLAIN, UNKNOWN, owner="two") as second:
            second.kill()
            wait_for(lambda: left(tmp_path) == mine)
            warden = warden_of(second.pid)
            wait_for(lambda: not warden or not alive(warden))
            assert left(tmp_path) == mine
        first.kill()
        all_gone(tmp_path)


def test_it_costs_next_to_nothing_and_holds_nothing_open(tmp_path: Path) -> None:
    with ralph(tmp_path, PLAIN) as process:
        warden = psutil.Process(warden_of(process.pid))
        assert warden.memory_info().rss < 10_000_000
        assert sum(warden.cpu_times()[:2]) <= 0.02
        assert warden.cwd() == "/"
        wait_for(lambda: files_of(warden) <= {os.devnull, warden.cmdline()[1]})
        process.kill()
        all_gone(tmp_path)


def test_a_brand_stays_whatever_a_program_does_to_its_environment_and_session(tmp_path: Path) -> None:
    with brand.branding(brand.brand_for(str(tmp_path))):
        assert brand.brand_of(os.getpid()) == brand.brand_for(str(tmp_path))
        subprocess.run(["/bin/sh", "-c", UNKNOWN], cwd=tmp_path, check=True)
    (pid,) = numbers(wait_until_written(tmp_path / "pids"))
    try:
        assert brand.brand_of(os.getpid()) == 0
        assert sweep.started_by(str(tmp_path)) == {pid}
        assert sweep.started_by(f"{tmp_path}2") == set()
    finally:
        os.kill(pid, signal.SIGKILL)


def test_where_a_control_group_can_be_made_the_kernel_ends_what_has_no_brand_either(tmp_path: Path) -> None:
    if not (group := cgroup.made(brand.brand_for(str(tmp_path)))):
        pytest.skip("no control group can be made here")
    cgroup.end(group)
    assert not group.exists()
    unbrand = executable(tmp_path / "unbrand.py", UNBRAND)
    with ralph(tmp_path, UNBRANDED.format(unbrand=unbrand), GROUPED="1") as process:
        (pid,) = left(tmp_path)
        assert brand.brand_of(pid) == 0
        (group,) = group.parent.glob(f"ralph-{brand.brand_of(process.pid):x}")
        process.kill()
        all_gone(tmp_path)
    wait_for(lambda: not group.exists())


def test_a_warden_that_cannot_wait_is_not_started_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "warden.sh"
    script.write_text(f"echo started >> {tmp_path}/starts\n")
    monkeypatch.setattr(warden, "SCRIPT", script)

    def starts() -> int:
        return len((tmp_path / "starts").read_text().splitlines())

    async def run() -> None:
        with warden.guarding("run"):
            for _ in range(1000):  # until no more are started for a while
                before = starts()
                await asyncio.sleep(0.1)
                if before == starts():
                    break

    asyncio.run(run())
    assert starts() == warden.MAX_REPLACED + 1
