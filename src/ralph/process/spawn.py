"""Runs one child program: in its own session, streamed in constant memory, ended as a whole tree."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import itertools
import os
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ralph.errors import RalphError
from ralph.process import tree
from ralph.process.table import MARK, births

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Sink = Callable[[bytes], object]
T = TypeVar("T")
CHUNK = 1 << 18
PIPE_SIZE = 1 << 20
LINGER = 10.0
MAX_CHECKS = 50
SMALL = 4_096  # fits into any pipe at once
_numbers = itertools.count(1)


class ExitKind(Enum):
    """How a program ended."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    SILENT = "silent"
    LINGERED = "lingered"  # it had reported its end but did not exit


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long a program may run, stay silent, and take to exit after a signal."""

    total: float | None = None
    idle: float | None = None
    grace: float = 5.0


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """The result of a program."""

    how: ExitKind
    code: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A short program's exit code and output."""

    code: int
    out: bytes
    err: bytes


class Child:
    """A running program; `exited` resolves when its own process ends, even if another one still holds its output."""

    def __init__(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        self._popen = popen
        self.mark = mark
        self.pid = popen.pid
        loop = asyncio.get_running_loop()
        self.last_output = self.started = loop.time()
        self.on_last_word: Callable[[], None] = lambda: None
        self.failure: Exception | None = None
        self._readers: dict[int, Sink] = {}
        self._ended = asyncio.Event()
        self._watchers: list[Callable[[], None]] = []
        tree.when_over(self.pid, self._over)

    def _over(self) -> None:
        self._popen.wait()
        tree.forget(self.pid)
        self._ended.set()
        for watcher in self._watchers:
            watcher()

    def running(self) -> bool:
        return not self._ended.is_set()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return None if self.running() else self._popen.wait()

    async def exited(self) -> int:
        await self._ended.wait()
        return self._popen.wait()

    def watch(self, ended: Callable[[], None]) -> None:
        if self.running():
            self._watchers.append(ended)
        else:
            ended()

    def last_word(self) -> None:
        """Start a short deadline: the program has reported that it is done and should exit soon."""
        self.on_last_word()

    def kill(self) -> None:
        if self.running():
            self._popen.kill()

    def read(self, descriptor: int, sink: Sink, *, much: bool = True) -> None:
        os.set_blocking(descriptor, False)
        if much:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
            except (AttributeError, OSError):
                pass
        self._readers[descriptor] = sink
        asyncio.get_running_loop().add_reader(descriptor, self._pump, descriptor)

    def _pump(self, descriptor: int) -> bool:
        """Pass on available output; return False when there is no more."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close(descriptor)
            return False
        self.last_output = asyncio.get_running_loop().time()
        try:
            self._readers[descriptor](data)
        except Exception as error:  # the sink failed, so the program's output has nowhere to go
            self.failure = self.failure or error
            self._close(descriptor)
            self.kill()
            return False
        return True

    def _close(self, descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        del self._readers[descriptor]
        os.close(descriptor)

    async def end(self, grace: float) -> None:
        """End the program and all of its descendants, then read the rest of its output."""
        patience = grace if self.running() else min(grace, 1.0)
        unseen = 0
        for _ in range(MAX_CHECKS):
            if unseen >= 2 or not tree.has_children():
                break
            before = births()
            members = tree.family(self.pid, self.mark)
            nobody_was_born = before and births() == before  # otherwise the check may have missed a new process
            unseen = 0 if members else unseen + (2 if nobody_was_born else 1)
            await tree.end(members, grace=patience)
            patience = 0.0 if members else patience
        await self.exited()
        self.drain()

    def drain(self) -> None:
        """Read what the ended program left in its pipes, and close them."""
        for descriptor in list(self._readers):
            for _ in range(2 * PIPE_SIZE // CHUNK):  # no more than fits: another process may still be writing
                if not self._pump(descriptor):
                    break
            if descriptor in self._readers:
                self._close(descriptor)


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish `work` even if this task is cancelled meanwhile, then raise the cancellation."""
    task = asyncio.ensure_future(work)
    stopped: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            stopped = error
    task.result()
    if stopped:
        raise stopped


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if this task is cancelled meanwhile; swallow the cancellation and return the result."""
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
    stdin: Path | None = None,
    grace: float = 5.0,
) -> AsyncIterator[Child]:
    """Start a program; when the block ends in any way, end its whole tree."""
    mark = new_mark(owner)
    child, descriptors = _start(argv, cwd, {**env, MARK: mark}, mark, stdin, separate=err is not None)
    try:
        child.read(descriptors[0], out)
        if err is not None:
            child.read(descriptors[1], err)
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
    stdin: Path | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    started: Callable[[Child], None] | None = None,
) -> ProcessEnd:
    """Run a program to its end within its limits."""
    async with spawn(argv, cwd=cwd, env=env, owner=owner, out=out, err=err, stdin=stdin, grace=limits.grace) as child:
        if started:
            started(child)
        how = await _within(child, limits)
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
) -> Captured:
    """Run a short program of Ralph's own (git) and return its whole output."""
    out, err = bytearray(), bytearray()
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
            f"{' '.join(argv[:4])} … did not answer within {seconds:.0f} seconds.",
            remedy="Run it by hand in this folder to see what it waits for.",
        ) from None
    finally:
        if child.running():
            await to_the_end(child.end(2.0))
        child.drain()
        if isinstance(source, int):
            os.close(source)
    return Captured(code=code, out=bytes(out), err=bytes(err))


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    mark: str,
    stdin: Path | int | None,
    *,
    separate: bool,
) -> tuple[Child, tuple[int, int]]:
    source = stdin if isinstance(stdin, int) else _opened(stdin or Path(os.devnull))
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe() if separate else (-1, out_write)
    try:
        popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=source,
            stdout=out_write,
            stderr=err_write,
            start_new_session=True,
        )
    except OSError as error:
        os.close(out_read)
        if separate:
            os.close(err_read)
        raise _cannot_start(argv[0], cwd, error) from None
    finally:
        os.close(out_write)
        if separate:
            os.close(err_write)
        if not isinstance(stdin, int):
            os.close(source)
    tree.register(popen.pid, mark)
    return Child(popen, mark), (out_read, err_read)


def _cannot_start(command: str, cwd: Path, error: OSError) -> RalphError:
    if error.errno == errno.ENOENT and cwd.is_dir():
        return RalphError(
            f"The command {command!r} was not found.",
            remedy=f"Install {command!r}, or correct its name or path.",
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
    """Resolves at the first of: the program's exit, its total limit, its idle limit, a delay after its last word."""

    def __init__(self, child: Child, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._child = child
        self._timers: list[asyncio.TimerHandle] = []
        self.ending: asyncio.Future[ExitKind] = self._loop.create_future()
        child.watch(lambda: self._over(ExitKind.EXITED))
        child.on_last_word = lambda: self._later(LINGER, ExitKind.LINGERED)
        if limits.total:
            self._later(limits.total, ExitKind.TIMED_OUT)
        if limits.idle:
            self._check_silence(limits.idle)

    def _later(self, seconds: float, how: ExitKind) -> None:
        self._timers.append(self._loop.call_later(seconds, self._over, how))

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
        for timer in self._timers:
            timer.cancel()


async def _within(child: Child, limits: Limits) -> ExitKind:
    deadlines = _Deadlines(child, limits)
    try:
        return await deadlines.ending
    finally:
        deadlines.cancel()
