"""Runs one child program: in its own session, streamed in constant memory, ended as a whole tree."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.process import tree
from ralph.process.child import Child, ProgramInput, Sink
from ralph.process.enclosure import Enclosure
from ralph.process.environment import located
from ralph.process.table import MARK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")
LINGER = 10.0
SMALL = 4_096  # fits into any pipe at once
SHELLS_SIGNALS = 129  # a shell adds 128 to the signal's number; 129 is also git's code for a wrong option
_numbers = itertools.count(1)


class ExitKind(Enum):
    """How a program ended."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    SILENT = "silent"
    LINGERED = "lingered"  # it had reported its end but did not exit
    ANSWERED = "answered"  # it had done what it was started for, and Ralph ended it
    GAVE_UP = "gave up"  # it could not reach what it needs for too long, and Ralph ended it


class Limits(Frozen):
    """How long a program may run, stay silent, be in trouble, and take to exit after a signal."""

    total: float | None = None
    idle: float | None = None
    trouble: float | None = None  # from `Child.in_trouble(True)` on
    grace: float = 5.0


class ProcessEnd(Frozen):
    """The result of a program."""

    how: ExitKind
    code: int
    seconds: float


class OpenInput(Frozen):
    """A standard input that stays open: `Child.input` writes to it while the program runs."""


class ProgramOutput(Frozen):
    """A short program's exit code and output."""

    code: int
    out: bytes
    err: bytes

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it, by what the system says, or a shell around it; no git ends with such a code."""
        return self.code < 0 or self.code > SHELLS_SIGNALS


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if this task is cancelled, then raise the cancellation."""
    task = asyncio.ensure_future(work)
    stopped: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            stopped = error
    result = task.result()
    if stopped:
        raise stopped
    return result


async def in_thread(work: Callable[..., T], *args: object) -> T:
    """Run what writes files in a thread; nothing can end it, so a cancellation waits for its end."""
    return await to_the_end(asyncio.to_thread(work, *args))


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if this task is cancelled; swallow the cancellation and return the result."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


def new_mark(owner: str) -> str:
    """Return a new mark, which identifies a child of `owner` and all of its descendants."""
    return f"{owner}.{next(_numbers)}"


@asynccontextmanager
async def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    owner: str,
    out: Sink,
    err: Sink | None = None,
    stdin: Path | OpenInput | None = None,
    grace: float = 5.0,
    within: Enclosure | None = None,
) -> AsyncIterator[Child]:
    """Start a program, `within` a sandbox if there is one; when the block ends in any way, end its whole tree."""
    mark = new_mark(owner)
    argv, env = _enclosed(argv, cwd, env, within)
    child, descriptors = _start(argv, cwd, {**env, MARK: mark}, mark, stdin, separate=err is not None)
    try:
        child.read(descriptors[0], out)
        if err is not None:
            child.read(descriptors[1], err)
        child.is_shell = within is not None and within.has_processes
        yield child
    finally:
        await to_the_end(child.end(grace))


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    owner: str,
    out: Sink,
    err: Sink | None = None,
    stdin: Path | OpenInput | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    started: Callable[[Child], None] | None = None,
    parting: Callable[[], Coroutine[Any, Any, None]] | None = None,
    within: Enclosure | None = None,
) -> ProcessEnd:
    """Run a program to its end within its limits; `parting` is done before its tree is ended, however that came."""
    started_with = spawn(
        argv, cwd=cwd, env=env, owner=owner, out=out, err=err, stdin=stdin, grace=limits.grace, within=within
    )
    async with started_with as child:
        if started:
            started(child)
        try:
            how = await _within(child, limits)
        finally:
            if parting:
                await to_the_end(parting())
        seconds = asyncio.get_running_loop().time() - child.started
    if child.failure:
        raise child.failure
    return ProcessEnd(how=how, code=await child.exited(), seconds=seconds)


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    seconds: float = 120,
    owner: str = "",
    within: Enclosure | None = None,
) -> ProgramOutput:
    """Run a short program of Ralph's own (git) and return its whole output."""
    out, err = bytearray(), bytearray()
    argv, env = _enclosed(argv, cwd, env, within)
    source = _as_file(stdin) if stdin else None
    marked = {**env, MARK: f"{owner}.git"} if owner else env  # lets the next run find its hooks if Ralph is killed
    child, descriptors = _start(argv, cwd, marked, "", source, separate=True)
    try:
        child.read(descriptors[0], out.extend, much=False)
        child.read(descriptors[1], err.extend, much=False)
        async with asyncio.timeout(seconds):
            code = await child.exited()
    except TimeoutError:
        raise RalphError(
            f"{' '.join(argv[:4])} … did not finish within {seconds:.0f} seconds.",
            remedy="Run it yourself in this folder to see what it waits for.",
        ) from None
    finally:
        if child.running():
            await to_the_end(child.end(2.0))
        child.drain()
        if isinstance(source, int):
            os.close(source)
    return ProgramOutput(code=code, out=bytes(out), err=bytes(err))


def _enclosed(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], within: Enclosure | None
) -> tuple[Sequence[str], Mapping[str, str]]:
    return (within.command(argv, cwd), within.environment(env)) if within else (argv, env)


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    mark: str,
    stdin: Path | OpenInput | int | None,
    *,
    separate: bool,
) -> tuple[Child, tuple[int, int]]:
    source, into = _source(stdin)
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe() if separate else (-1, out_write)
    try:
        popen = subprocess.Popen(
            located(argv, env),
            cwd=cwd,
            env=dict(env),
            stdin=source,
            stdout=out_write,
            stderr=err_write,
            start_new_session=True,
        )
    except OSError as error:
        for descriptor in (out_read, *([err_read] if separate else []), *([into] if into is not None else [])):
            os.close(descriptor)
        raise _cannot_start(argv[0], cwd, error) from None
    finally:
        os.close(out_write)
        if separate:
            os.close(err_write)
        if not isinstance(stdin, int):
            os.close(source)
    tree.register(popen.pid, mark)
    return Child(popen, mark, None if into is None else ProgramInput(into)), (out_read, err_read)


def _source(stdin: Path | OpenInput | int | None) -> tuple[int, int | None]:
    """Return the descriptor that a program reads, and the one that writes to it, if it is a pipe."""
    if isinstance(stdin, OpenInput):
        return os.pipe()
    return stdin if isinstance(stdin, int) else _opened(stdin or Path(os.devnull)), None


def _cannot_start(command: str, cwd: Path, error: OSError) -> RalphError:
    if error.errno == errno.ENOENT and cwd.is_dir():
        return RalphError(
            f"The command {command!r} was not found.",
            remedy=f"Install {command!r}, or fix its name or path.",
        )
    return RalphError(f"The command {command!r} could not be started: {error.strerror}.")


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise RalphError(f"{path} could not be read: {error.strerror}.") from None


def _as_file(data: bytes) -> int:
    """Return a descriptor from which `data` can be read, without a writer that could block."""
    if len(data) <= SMALL:
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        return read
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        descriptor = os.dup(file.fileno())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class _Deadlines:
    """Resolves at the first of: the program's exit or answer, its limits, a delay after its last word."""

    def __init__(self, child: Child, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._child = child
        self._timers: list[asyncio.TimerHandle] = []
        self.ending: asyncio.Future[ExitKind] = self._loop.create_future()
        child.watch(lambda: self._over(ExitKind.EXITED))
        child.on_last_word = lambda: self._later(LINGER, ExitKind.LINGERED)
        child.on_answer = lambda: self._over(ExitKind.ANSWERED)
        self._trouble: asyncio.TimerHandle | None = None
        if limits.trouble:
            child.on_trouble = partial(self._in_trouble, limits.trouble)
        if limits.total:
            self._later(limits.total, ExitKind.TIMED_OUT)
        if limits.idle:
            self._check_silence(limits.idle)

    def _later(self, seconds: float, how: ExitKind) -> None:
        self._timers.append(self._loop.call_later(seconds, self._over, how))

    def _in_trouble(self, seconds: float, is_in_trouble: bool) -> None:
        if is_in_trouble and self._trouble is None:
            self._trouble = self._loop.call_later(seconds, self._over, ExitKind.GAVE_UP)
        elif not is_in_trouble and self._trouble:
            self._trouble.cancel()
            self._trouble = None

    def _check_silence(self, idle: float) -> None:
        left = self._child.last_output + idle - self._loop.time()
        if left <= 0:
            self._over(ExitKind.SILENT)
        else:
            self._timers.append(self._loop.call_later(left, self._check_silence, idle))

    def _over(self, how: ExitKind) -> None:
        if not self.ending.done():
            self.ending.set_result(how)

    def cancel(self) -> None:
        for timer in (*self._timers, *filter(None, [self._trouble])):
            timer.cancel()


async def _within(child: Child, limits: Limits) -> ExitKind:
    deadlines = _Deadlines(child, limits)
    try:
        return await deadlines.ending
    finally:
        deadlines.cancel()
