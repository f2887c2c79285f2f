"""What goes wrong in a run: each fault makes one run of the round's command, and strikes at a random moment."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from chaos.processes import send, warden_of
from chaos.scene import Scene, file_limit, process_limit

Fault = Callable[[Scene], object]


def kill_run(scene: Scene, run: subprocess.Popen[str]) -> None:
    scene.kill(run.pid if run.poll() is None else 0, "Ralph")


def kill_ralph(scene: Scene) -> None:
    run = scene.start()
    scene.pause()
    kill_run(scene, run)
    scene.end(run)


def kill_warden(scene: Scene) -> None:
    run = scene.start()
    scene.pause()
    scene.kill(warden_of(scene.folder, run.pid), "its warden")
    scene.end(run)


def kill_both(scene: Scene) -> None:
    """Nothing ends the agents then, until the next run."""
    run = scene.start()
    scene.pause()
    warden = warden_of(scene.folder, run.pid)
    if warden:
        send(warden, signal.SIGSTOP)  # otherwise it would see Ralph's end, or Ralph would see its end
    kill_run(scene, run)
    scene.kill(warden, "its warden")
    scene.end(run)


def kill_agents(scene: Scene) -> None:
    """Kill any program that Ralph started: an agent, a gate, a part of them, or git."""
    run = scene.start()
    for _ in range(3):
        scene.pause(1)
        started, which = scene.programs(run), scene.chance.random()
        scene.kill(started[int(which * len(started))] if started else 0, "a program")
    scene.end(run)


def kill_git(scene: Scene) -> None:
    """Kill a git in the middle, and sometimes Ralph soon afterwards."""
    run = scene.start()
    scene.pause()
    order = scene.notes / "kill-git"
    order.write_text(f"{scene.chance.uniform(0, 0.006):.4f}\n")
    scene.did.append("kill a git")
    if scene.chance.random() < 0.5:
        scene.pause(0.1)
        kill_run(scene, run)
    scene.end(run)
    if order.exists():
        scene.did.append("too late to kill a git")
        order.unlink()


def interrupt(scene: Scene) -> None:
    run = scene.start()
    scene.pause()
    number = scene.chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    scene.did.append(number.name)
    send(run.pid, number)
    scene.end(run)


def stop(scene: Scene) -> None:
    run = scene.start()
    scene.pause()
    send(run.pid, signal.SIGSTOP)
    scene.did.append("SIGSTOP")
    scene.pause(1.5)
    send(run.pid, signal.SIGCONT)
    scene.end(run)


def few_files(scene: Scene) -> None:
    number = scene.chance.randint(12, 48)
    run = scene.start(file_limit(number))
    scene.did.append(f"at most {number} open files")
    scene.end(run)


def few_processes(scene: Scene) -> None:
    number = scene.chance.randint(1, 12)
    run = scene.start(process_limit(scene, number))
    scene.did.append(f"at most {number} processes")
    scene.end(run)


def full_disk(scene: Scene) -> None:
    _short_of(scene, "no room on the disk", lambda disk: f"size={_used(disk) + 8192}")


def no_inodes(scene: Scene) -> None:
    _short_of(scene, "no inodes", lambda disk: f"nr_inodes={disk.f_files - disk.f_ffree + 2}")


def read_only(scene: Scene) -> None:
    _short_of(scene, "a read-only disk", lambda _: "ro")


def clock_jump(scene: Scene) -> None:
    """Ralph and git see a clock that jumps by up to ten days in either direction; nothing else does."""
    clock = scene.notes / "clock"
    clock.write_text("+0\n")
    variables = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1"}
    run = scene.start(LD_PRELOAD=str(fake_clock()), **variables)
    scene.pause()
    seconds = scene.chance.randint(-864_000, 864_000)
    clock.write_text(f"{seconds:+}\n")
    scene.did.append(f"the clock jumps by {seconds} s")
    scene.end(run)


def fake_clock() -> Path | None:
    """The library of Debian's package `libfaketime`, if it is installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def _used(disk: os.statvfs_result) -> int:
    return (disk.f_blocks - disk.f_bfree) * disk.f_frsize


def _short_of(scene: Scene, what: str, option: Callable[[os.statvfs_result], str]) -> None:
    """Take something away from the disk before a run or in it, and give it back while the run goes on."""
    early = scene.chance.random() < 0.3
    run = None if early else scene.start()
    if run:
        scene.pause()
    is_taken = _mount(scene, option(os.statvfs(scene.folder)))
    scene.did.append(what if is_taken else f"{what}: refused, files are being written")
    run = run or scene.start()
    scene.pause(1.5)
    _mount(scene, ROOMY)
    scene.did.append("the disk is well again")
    scene.end(run)


def _mount(scene: Scene, option: str) -> bool:
    command = ["mount", "-o", f"remount,{option}", str(scene.folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


ROOMY = "rw,size=512m,nr_inodes=100000"

ANYWHERE: tuple[Fault, ...] = (
    *(kill_ralph, kill_ralph, kill_both, kill_warden, kill_agents, kill_git, kill_git),
    *(interrupt, stop, few_files),
)
ON_A_DISK_OF_ITS_OWN: tuple[Fault, ...] = (full_disk, no_inodes, read_only)


def possible(scene: Scene, has_disk: bool) -> list[Fault]:
    """The faults that can be made here."""
    processes = [few_processes] if scene.user.has_process_limit else []
    clock = [clock_jump] if fake_clock() else []
    return [*ANYWHERE, *processes, *clock, *(ON_A_DISK_OF_ITS_OWN if has_disk else ())]
