"""`python -m chaos`: rounds until the time is over (`CHAOS_MINUTES`), or the one round of `CHAOS_SEED`."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

from chaos import faults
from chaos.rounds import UNUSED_UIDS, Machine, play
from chaos.scene import RALPH, User

MINUTES = 10.0
APART = "apart"
"""The argument of a process whose mounts are apart from those of the machine."""


def main() -> int:
    if not sys.platform.startswith("linux"):
        print("chaos needs Linux: it finds processes in /proc", file=sys.stderr)
        return 1
    try:
        one = os.environ.get("CHAOS_SEED")
        seed = int(one) if one else secrets.randbelow(10**9)
        minutes = float(os.environ.get("CHAOS_MINUTES") or (0 if one else MINUTES))
    except ValueError as error:
        print(f"CHAOS_SEED must be a whole number, and CHAOS_MINUTES a number: {error}", file=sys.stderr)
        return 1
    _mount_apart()
    try:
        return _play(seed, minutes)
    except KeyboardInterrupt:
        return 130


def _play(seed: int, minutes: float) -> int:
    machine = Machine(has_disk=APART in sys.argv, other_users=_can_be_another_user())
    for what in _left_out(machine):
        print(f"left out: {what}")
    deadline = time.monotonic() + minutes * 60
    rounds = 0
    while not rounds or time.monotonic() < deadline:
        if not _round(seed + rounds, machine):
            return 1
        rounds += 1
    print(f"{rounds} rounds from CHAOS_SEED={seed}: nothing falsely done, lost, twice, damaged or left running")
    return 0


def _left_out(machine: Machine) -> Iterator[str]:
    """What this machine does not allow."""
    if not machine.has_disk:
        yield "a full disk, no inodes, a read-only disk: only root can mount"
    if os.getuid() == 0 and not machine.other_users:
        yield "no more processes: root has no limit for them, and `setpriv` does not work here"
    if not faults.fake_clock():
        yield "a clock that jumps: Debian's package `libfaketime` is not installed"


def _round(seed: int, machine: Machine) -> bool:
    began = time.monotonic()
    result = play(seed, machine)
    print(f"{seed} {'FAILED' if result.problems else 'ok'} {time.monotonic() - began:.1f} s: {result.did}", flush=True)
    for problem in result.problems:
        print(f"  {problem}")
    if result.problems:
        print(f"  again: CHAOS_SEED={seed} make chaos")
    return not result.problems


def _mount_apart() -> None:
    """Go on in a mount namespace of its own, as root: what is mounted there ends with it, however it ends."""
    unshare = shutil.which("unshare")
    if os.getuid() != 0 or not unshare or APART in sys.argv:
        return
    if subprocess.run([unshare, "--mount", "true"], capture_output=True).returncode:
        return
    command = [unshare, "--mount", "--propagation", "private", sys.executable, "-m", "chaos", APART]
    os.execv(unshare, command)


def _can_be_another_user() -> bool:
    """Whether root can run this Ralph as an ordinary user."""
    if os.getuid() != 0:
        return False
    command = [*User(uid=UNUSED_UIDS).switch, str(RALPH), "--version"]
    try:
        done = subprocess.run(command, cwd="/", env={"PATH": os.environ["PATH"]}, capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
