"""Instants of a run: each time that Ralph is about to write, rename, remove, make a folder, or start or end a process.

A run can be ended at one of them by a signal, or recorded: whenever the disk has changed since the last instant, all of
it is copied. What `kill -9` leaves behind at an instant is that copy, and what is still running; so each copy can be
resumed instead of a run of its own up to each instant.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import Project

WRITES = os.O_WRONLY | os.O_RDWR
EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.kill", "subprocess.Popen")
COPIES = "/.ralph/worktrees/."
"""Working copies are made anew from commits, whatever is in them."""


def ended_at(project: Project, instant: int, number: signal.Signals, *command: str) -> int:
    """Let a command go on until the given instant; 0, or how many instants it has in all if they are fewer."""
    counter = project.folder / "count"
    done = _watched(project, f"end_at({instant}, {int(number)}, {str(counter)!r}, {str(project.path)!r})", *command)
    if done.returncode in (-number, 130):
        return 0
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return int(counter.read_text())


def killed_at(project: Project, instant: int, *command: str) -> int:
    return ended_at(project, instant, signal.SIGKILL, *command)


def states(project: Project, *command: str, least: int, every: int = 1) -> Iterator[str]:
    """Run a command to its end once; then put back, one after the other, what was on the disk at its instants.

    `least` is how many states there must be at least; only each `every`-th is put back.
    """
    kept = project.folder.with_name(f"{project.folder.name}-states")
    kept.mkdir()
    done = _watched(project, f"record({str(project.folder)!r}, {str(kept)!r}, {str(project.path)!r})", *command)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    found = sorted(kept.iterdir(), key=lambda path: int(path.name.split()[0]))
    assert len(found) >= least, "a run has many states"
    for state in found[::every]:
        shutil.rmtree(project.folder)
        state.rename(project.folder)
        yield state.name


def _watched(project: Project, call: str, *command: str) -> Any:
    here = str(Path(__file__).parent.parent)
    before = f"import sys; sys.path.append({here!r}); from tests import instants; instants.{call}"
    done = project.run(*command, before=before)
    assert "Traceback" not in done.stderr, done.stderr
    return done


# In the run itself


def watch(root: str, reached: Callable[[str], None]) -> None:
    """Call `reached` at each instant, with what is about to happen."""
    lock, busy = threading.RLock(), False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal busy
        if event == "open":
            if not isinstance(args[0], str) or not args[0].startswith(root) or not (args[2] or 0) & WRITES:
                return
        elif event not in EVENTS:
            return
        if event != "subprocess.Popen" and args and isinstance(args[0], str) and COPIES in args[0]:
            return
        with lock:
            if not busy:
                busy = True
                reached(f"{event} {Path(str(args[0])).name}")
                busy = False

    sys.addaudithook(hook)


def end_at(instant: int, number: int, counter: str, root: str) -> None:
    import atexit

    numbers = count(1)
    watch(root, lambda _: os.kill(os.getpid(), number) if next(numbers) == instant else None)
    atexit.register(lambda: Path(counter).write_text(str(next(numbers) - 1)))


def record(folder: str, kept: str, root: str) -> None:
    numbers = count(1)
    last: dict[str, Any] = {}

    def copy(what: str) -> None:
        number = next(numbers)
        now = look(folder)
        if now == last:
            return
        while True:
            target = f"{kept}/{number} {what}"
            subprocess.run(["cp", "-a", folder, target], stderr=subprocess.DEVNULL)  # files may vanish meanwhile
            last.clear()
            last.update(look(folder))
            if last == now:
                return
            now = dict(last)  # somebody else wrote meanwhile: what was copied may never have been there at once
            shutil.rmtree(target)

    watch(root, copy)


def look(folder: str) -> dict[str, tuple[int, ...]]:
    """What tells whether a file has changed, of all files but those of working copies."""
    found = {}
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif COPIES not in entry.path:
                        about = entry.stat(follow_symlinks=False)
                        found[entry.path] = (about.st_mtime_ns, about.st_size, about.st_ino, about.st_mode)
        except FileNotFoundError:
            continue
    return found
