"""A running program: its output goes to sinks, its input comes from Ralph or a file, and it ends as a whole tree."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from collections import deque
from collections.abc import Callable

from ralph.process import tree
from ralph.process.table import births

Sink = Callable[[bytes], object]
CHUNK = 1 << 18
PIPE_SIZE = 1 << 20
MAX_CHECKS = 50
SIGNALLED = 128  # a sandbox's own process adds the signal that ended the program inside


class ProgramInput:
    """The writing end of a program's standard input; what does not fit into the pipe waits here."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._pieces: deque[bytes] = deque()
        self._ends = False
        self.waiting = 0  # the bytes that the program has not taken yet

    def write(self, data: bytes) -> None:
        """Write without waiting; a program that no longer reads gets nothing."""
        if self._descriptor < 0 or self._ends or not data:
            return
        self._pieces.append(data)
        self.waiting += len(data)
        if len(self._pieces) == 1:
            self._push()

    def end(self) -> None:
        """Let the program read the end of its input after all that was written."""
        self._ends = True
        if not self._pieces:
            self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_writer(self._descriptor)
            os.close(self._descriptor)
        self._descriptor, self.waiting = -1, 0
        self._pieces.clear()

    def _push(self) -> None:
        try:
            while self._pieces:
                piece = self._pieces.popleft()
                written = os.write(self._descriptor, piece)
                self.waiting -= written
                if written < len(piece):
                    self._pieces.appendleft(piece[written:])
        except BlockingIOError:
            self._pieces.appendleft(piece)
            asyncio.get_running_loop().add_writer(self._descriptor, self._push)
            return
        except OSError:
            self.close()
            return
        asyncio.get_running_loop().remove_writer(self._descriptor)
        if self._ends:
            self.close()


class Child:
    """A running program; `exited` resolves when its own process ends, even if another one still holds its output."""

    def __init__(self, popen: subprocess.Popen[bytes], mark: str, input: ProgramInput | None = None) -> None:
        self._popen = popen
        self.input = input  # None: it reads a file
        self.mark = mark
        self.pid = popen.pid
        loop = asyncio.get_running_loop()
        self.last_output = self.started = loop.time()
        self.on_last_word: Callable[[], None] = lambda: None
        self.on_answer: Callable[[], None] = lambda: None
        self.on_trouble: Callable[[bool], None] = lambda is_in_trouble: None
        self.failure: Exception | None = None
        self.is_shell = False  # it is a sandbox's own process: the program inside cannot outlive it
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
        return None if self.running() else self._code()

    async def exited(self) -> int:
        await self._ended.wait()
        return self._code()

    def _code(self) -> int:
        """Return the exit code, or the negative number of the signal that ended the program."""
        code = self._popen.wait()
        return SIGNALLED - code if self.is_shell and code > SIGNALLED else code

    def watch(self, ended: Callable[[], None]) -> None:
        if self.running():
            self._watchers.append(ended)
        else:
            ended()

    def last_word(self) -> None:
        """Start a short deadline: the program has reported that it is done and should exit soon."""
        self.on_last_word()

    def answered(self) -> None:
        """End the program now: it has done what it was started for, and would wait for more."""
        self.on_answer()

    def in_trouble(self, is_in_trouble: bool) -> None:
        """Start a deadline when the program says that it cannot reach what it needs; it ends when that is over."""
        self.on_trouble(is_in_trouble)

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
            is_stable = before and births() == before  # otherwise the check may have missed a new process
            unseen = 0 if members else unseen + (2 if is_stable else 1)
            await tree.end(members, grace=patience, spared=self.pid if self.is_shell else 0)
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
        if self.input:
            self.input.close()
