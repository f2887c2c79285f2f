"""Instants of a run: each time that Ralph is about to write, rename, remove, make a folder, or start or end a process.

A run can be ended at one of them by a signal, or recorded: whenever something is new on the disk, all of it is copied.
What `kill -9` leaves behind at an instant is that copy, and what is still running; so each copy can be resumed instead
of a run of its own up to each instant. Instants that the next run cannot tell apart have one copy (`Seen`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import Project

WRITES = os.O_WRONLY | os.O_RDWR
EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.kill", "subprocess.Popen")
COPIES = "/.ralph/worktrees/."
"""Working copies are made anew from commits, whatever is in them."""
UNREAD = re.compile(
    r"/project/([\w-]+/)?\.git/objects/(?!info)"
    r"|/project/\.ralph/(logs/|receipts/|run/[^/]+/found/|run/spending\.jsonl|run_state\.json|aggregate\.json|worktrees/.*\.used$)"
)
"""What the next run does not read: objects before something names them, and what was told to people."""
TEMPORARY = re.compile(r"\.tmp$|\.lock$|/tmp_obj_|/ralph-index-|^/(?!project/|home/)")
RANDOM = re.compile(
    r"(?<=\.)[0-9a-f]{16}(?=\.tmp$)|(?<=/objects/)../tmp_obj_.+|(?<=^/)(?!project/|home/).+|(?<=ralph-index-).+"
)
CACHE = "/home/.cache/"
Stats = dict[str, tuple[int, ...]]


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


def states(project: Project, *command: str, least: int) -> Iterator[str]:
    """Run a command to its end once; then put back, one after the other, what was on the disk at its instants.

    `least` is how many states there must be at least.
    """
    kept = project.folder.with_name(f"{project.folder.name}-states")
    kept.mkdir()
    done = _watched(project, f"record({', '.join(map(repr, (*_folders(project), str(kept))))})", *command)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    found = sorted(kept.iterdir(), key=lambda path: int(path.name.split()[0]))
    assert len(found) >= least, f"a run has many states, not {len(found)}"
    for state in found:
        shutil.rmtree(project.folder)
        state.rename(project.folder)
        yield state.name


def resumed(
    project: Project, *command: str, code: int = 0, may_repeat: Iterable[str] = ()
) -> subprocess.CompletedProcess[str] | None:
    """Resume a state; None: it was stopped, because how it goes on has been seen.

    It is stopped as soon as everything is as it was in an earlier run, of this state or another (`alike.digest`): that
    one went on to its end from there. `may_repeat` names the calls that this one may make again; if there were more in
    the earlier one, that says nothing about this one.
    """
    arguments = ", ".join(map(repr, (*_folders(project), sorted(may_repeat))))
    done = _watched(project, f"stop_where_known({arguments})", *command)
    if done.returncode == -signal.SIGKILL:
        wait_until_over(project)
        return None
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def wait_until_over(project: Project) -> None:
    """Wait until the warden of a killed run has ended all that was at work."""
    from tests.conftest import processes_in, wait_for

    wait_for(lambda: not processes_in(project.folder), what="a killed run's processes end")


def _folders(project: Project) -> tuple[str, str, str]:
    """Return all of a project's folders, the project, and the file of what has been seen."""
    return str(project.folder), str(project.path), str(project.folder.with_name(f"{project.folder.name}-known"))


def cut_short(project: Project) -> set[str]:
    """The work whose first agent had begun when Ralph was killed, and had not ended as far as Ralph knew."""
    records = (json.loads(path.read_bytes()) for path in project.path.glob(".ralph/run/*/*.attempt.json"))
    return {record["work"] for record in records if record["agent_at_work"] and not record["steps"]}


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


def stop_where_known(folder: str, root: str, known: str, may_repeat: list[str]) -> None:
    """End this process where all is as it was in another, whenever a record is saved or removed."""
    lines = [line.split() for line in Path(known).read_text().splitlines()]
    before = {digest for digest, *names in lines if set(may_repeat).issuperset(names)}

    def reached(what: str) -> None:
        if note(what, folder, known, may_repeat) in before:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(root, reached)


def note(what: str, folder: str, known: str, may_repeat: Sequence[str] = ()) -> str:
    """Note how all is when a record is saved or removed."""
    if ".attempt.json" not in what:
        return ""
    from tests import alike

    now = alike.digest(folder)
    with Path(known).open("a") as file:
        file.write(" ".join((now, *may_repeat)) + "\n")
    return now


def record(folder: str, root: str, known: str, kept: str) -> None:
    numbers = count(1)
    last: Stats = {}
    seen = Seen(folder)

    def copy(what: str) -> None:
        number = next(numbers)
        note(what, folder, known)
        now = look(folder)
        while now != last:
            last.clear()
            last.update(now)
            if seen.has(now):
                return
            target = f"{kept}/{number} {what}"
            subprocess.run(["cp", "-a", folder, target], stderr=subprocess.DEVNULL)  # files may vanish meanwhile
            now = look(folder)
            if now != last:  # another process wrote meanwhile: what was copied may never have been there at once
                shutil.rmtree(target)
                seen.forget()

    watch(root, copy)


class Seen:
    """The states of a disk so far, as far as the next run can tell one from another.

    It can by what lasts (refs, plans, records, whose locks), by which temporary files and locks are left over, by
    which files its copies in the cache have, and by how much of their small repositories is there; a state with news in
    any of the four is a new one. Objects and logs are no news: the first of several states that are alike otherwise is
    the one with the fewest.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: tuple[set[int], ...] = (set(), set(), set(), set())
        self._digests: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._added: list[tuple[set[int], int]] = []

    def has(self, found: Stats) -> bool:
        """Whether there is no news in a state; from now on it is known."""
        self._added.clear()
        for known, part in zip(self._known, self._parts(found), strict=True):
            if part not in known:
                known.add(part)
                self._added.append((known, part))
        return not self._added

    def forget(self) -> None:
        """Take the last one back."""
        for known, part in self._added:
            known.discard(part)

    def _parts(self, found: Stats) -> tuple[int, ...]:
        parts: tuple[set[object], ...] = (set(), set(), set(), set())
        lasting, temporary, copies, repositories = parts
        for path, about in found.items():
            name = path.removeprefix(self._folder)
            if name.startswith(CACHE):
                inside = "/.git/" in name
                (repositories if inside else copies).add(re.sub(r"(?<=/objects/)../.*", "", name))
            elif TEMPORARY.search(name):
                temporary.add(RANDOM.sub("", name))
            elif not UNREAD.match(name):
                lasting.add((name, self._digest(path, about)))
        return tuple(hash(frozenset(part)) for part in parts)

    def _digest(self, path: str, about: tuple[int, ...]) -> bytes:
        if (path, about) not in self._digests:
            try:
                file = Path(path)
                data = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
            except OSError:
                data = b""  # it vanished: the caller sees so when it looks again
            self._digests[path, about] = hashlib.sha256(data).digest()
        return self._digests[path, about]


def look(folder: str) -> Stats:
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
