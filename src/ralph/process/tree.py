"""Finds all processes that descend from Ralph's children, even if they changed session, and ends them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ralph.process.table import MARK, ProcessEntry, birth_of, mark_of, present, read, table, with_descendants

_living: dict[int, str] = {}
"""Direct children that should still run, with their marks."""

_marks: set[str] = set()
"""The marks of all children so far."""

_expected: set[str] = set()
"""The marks of children that a library is starting."""

_polling: set[asyncio.Task[None]] = set()
"""Tasks that wait for a child's end, on systems without an event for it."""

_strangers: set[tuple[int, int]] = set()
"""Processes that do not descend from this one. They never will, so they need no further check."""


MAX_PASSES = 20
"""How often Ralph looks for processes that started while it suspended the others."""


def register(pid: int, mark: str) -> None:
    _living[pid] = mark
    if mark:
        _marks.add(mark)


def forget(pid: int) -> None:
    _living.pop(pid, None)


@contextmanager
def started_elsewhere(mark: str, **variables: str) -> Iterator[None]:
    """Mark and register a child that a library starts: it inherits this process's environment, with its mark."""
    assert not _expected, "one at a time: the whole process shares the environment"
    _expected.add(mark)
    wanted = {MARK: mark, **variables}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        for entry in table():
            if entry.parent == os.getpid() and mark_of(entry.pid) == mark:
                register(entry.pid, mark)
        _expected.discard(mark)


def registered(mark: str) -> int:
    """Return the pid of the direct child with this mark; 0 if there is none."""
    return next((pid for pid, found in _living.items() if found == mark), 0)


def adopt_orphans(adopts: bool = True) -> None:
    """Make orphaned descendants children of this process, so that none can escape (Linux only); False: no longer."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_child_subreaper = 36
    ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, int(adopts), 0, 0, 0)


def family(leader: int, mark: str) -> set[int]:
    """Return every running process that came from `leader`: its group, session, descendants and orphans."""
    if not has_children():
        return set()
    entries = _ours()
    me = os.getpid()
    roots = {entry.pid for entry in entries if leader in (entry.group, entry.session)}
    roots |= {leader} & _living.keys()  # once it is reaped, its pid may belong to another process
    roots |= {entry.pid for entry in entries if entry.parent == me and _is_orphan_of(entry.pid, mark)}
    members = with_descendants(entries, roots)
    _reap(entry.pid for entry in entries if entry.dead and entry.parent == me and entry.pid in members)
    return {entry.pid for entry in entries if entry.pid in members and not entry.dead} - {me}


def _ours() -> list[ProcessEntry]:
    """Return the process table without processes whose ancestors are known not to include this one."""
    if not sys.platform.startswith("linux"):  # orphans are not adopted there: they may be anywhere
        return table()
    pids = present()
    _strangers.intersection_update(pids)
    entries = read(pids - _strangers)
    children: dict[int, list[ProcessEntry]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(entry)
    waiting = [0, *(pid for pid, _ in _strangers)]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid != os.getpid():
                _strangers.add((child.pid, child.inode))
                waiting.append(child.pid)
    return [entry for entry in entries if (entry.pid, entry.inode) not in _strangers]


def marked(prefix: str) -> set[int]:
    """Return every running process on this machine whose mark starts with `prefix`, with its descendants."""
    entries = table()
    roots = {entry.pid for entry in entries if (mark_of(entry.pid) or "").startswith(prefix)}
    members = with_descendants(entries, roots)
    return {entry.pid for entry in entries if entry.pid in members and not entry.dead} - {os.getpid()}


def stop(pids: set[int]) -> None:
    """Suspend these processes until they are ended."""
    _signal(pids, signal.SIGSTOP)


async def end(pids: set[int], *, grace: float, wake: bool = False, spared: int = 0) -> set[int]:
    """Send TERM, then KILL after `grace` seconds (at once if it is 0); return what still runs, normally nothing.

    `wake`: resume stopped processes, so that they handle TERM at once. `spared` gets no TERM: it ends by itself.
    """
    left = pids
    if grace:
        _signal(pids - {spared}, signal.SIGTERM)
        if wake:
            _signal(pids, signal.SIGCONT)
        left = await _gone(pids, grace)
    _signal(left, signal.SIGKILL)
    return await _gone(left, 2.0)


def kill_everything() -> None:
    """Kill every process that came from this one at once, even if its leader has already ended."""
    for _ in range(3):  # one pass can miss a process that is just starting
        _signal(_everything(), signal.SIGKILL)


def freeze() -> set[int]:
    """Suspend every process that came from this one, and return them."""
    frozen: set[int] = set()
    for _ in range(MAX_PASSES):
        new = _everything() - frozen
        if not new:
            break
        stop(new)
        frozen |= new
    return frozen


def thaw(pids: set[int]) -> None:
    """Let suspended processes continue."""
    _signal(pids, signal.SIGCONT)


def _everything() -> set[int]:
    me, entries = os.getpid(), table()
    roots = {me} if sys.platform.startswith("linux") else {me, *_with_marks_of_ours(entries)}
    return with_descendants(entries, roots) - {me}


def _with_marks_of_ours(entries: list[ProcessEntry]) -> set[int]:
    """Return processes with marks of this process, for systems on which orphans are not adopted."""
    return {entry.pid for entry in entries if mark_of(entry.pid) in _marks}


def _is_orphan_of(pid: int, mark: str) -> bool:
    if pid in _living:
        return False
    found = mark_of(pid)
    if found is None:  # it cleared its environment: its origin is unknown, so it ends with the last child
        return set(_living.values()) <= {mark, ""}
    return found == mark or (found not in _living.values() and found not in _expected)


def has_children() -> bool:
    """Check cheaply whether anything is left: with orphans adopted, no child means no descendant."""
    if not sys.platform.startswith("linux"):
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _reap(pids: Iterable[int]) -> None:
    for pid in pids:
        if pid not in _living:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


async def _gone(pids: set[int], seconds: float) -> set[int]:
    """Wait until all of `pids` have ended, at most `seconds`; return those that have not."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    left = set(pids)
    while left:
        left = {pid for pid in left if _alive(pid)}
        remaining = deadline - loop.time()
        if not left or remaining <= 0:
            break
        await exit_of(next(iter(left)), remaining)
    return left


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if pid in _living:
        return birth_of(pid) != ""  # a zombie child is reaped by its Popen
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return birth_of(pid) != ""


def when_over(pid: int, ended: Callable[[], None]) -> None:
    """Call `ended` as soon as a child has ended; the child is not reaped."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        polling = loop.create_task(_exit_by_polling(pid, None))
        _polling.add(polling)
        polling.add_done_callback(_polling.discard)
        polling.add_done_callback(lambda _: ended())
        return

    def over() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        ended()

    loop.add_reader(descriptor, over)


async def exit_of(pid: int, seconds: float | None) -> None:
    """Wait at most `seconds` until `pid` has ended; the process is not reaped."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        await _exit_by_polling(pid, seconds)
        return
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _exit_by_polling(pid: int, seconds: float | None) -> None:
    """Poll, on systems without pidfd (macOS)."""
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    while _alive(pid) and (deadline is None or loop.time() < deadline):  # noqa: ASYNC110 - no event exists
        await asyncio.sleep(0.02)
