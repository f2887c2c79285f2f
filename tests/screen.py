"""A terminal with a screen: what a person sees at this moment, at any size, in a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyte

from tests.conftest import RALPH, Project, wait_for


class ScreenTerminal:
    """A program in a terminal, and what its screen shows."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: dict[str, str], rows: int, columns: int) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._master, slave = pty.openpty()
        self._set_size(rows, columns)
        self.process = subprocess.Popen(
            ["setsid", "-c", *argv], cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        os.set_blocking(self._master, False)

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self) -> bool:
        """Take what was written since; return whether the other side is still open."""
        while True:
            try:
                data = os.read(self._master, 1 << 16)
            except BlockingIOError:
                return True
            except OSError:
                return False
            self.raw += data
            self._stream.feed(data)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without trailing blanks."""
        self.read()
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()

    @property
    def everything(self) -> str:
        """The screen, and what has left it at the top."""
        self.read()
        above = ["".join(line[x].data for x in range(self.screen.columns)).rstrip() for line in self.screen.history.top]
        return "\n".join([*above, self.text])

    def expect(self, *texts: str, seconds: float = 20) -> str:
        """Wait until the screen shows all of these."""
        try:
            wait_for(lambda: (shown := self.text) is not None and all(text in shown for text in texts), seconds)
        except AssertionError:
            raise AssertionError(f"{texts} not on the screen:\n{self.text}") from None
        return self.text

    def expect_no(self, text: str) -> str:
        wait_for(lambda: text not in self.text, what=f"{text} to go")
        return self.text

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self.read()
        self.screen.resize(rows, columns)
        self._set_size(rows, columns)

    def end(self, seconds: float = 60) -> int:
        """Wait until the program has ended; return its exit code."""
        wait_for(lambda: not self.read() or self.process.poll() is not None, seconds, "its end")
        code = self.process.wait(seconds)
        self.read()
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@contextmanager
def on_screen(
    project: Project,
    *args: str,
    rows: int = 24,
    columns: int = 80,
    env: dict[str, str] | None = None,
    shell: Sequence[str] = (),
) -> Iterator[ScreenTerminal]:
    """`ralph` on a screen of this size, perhaps started by a shell."""
    whole = {**project.env, "TERM": "xterm", **(env or {})}
    opened = ScreenTerminal([*shell, str(RALPH), *args], cwd=str(project.path), env=whole, rows=rows, columns=columns)
    try:
        yield opened
    finally:
        opened.close()
