"""The whole terminal as a screen: it writes the rows that change, reads keys, and puts everything back at the end."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

from ralph.views import area

OPEN, CLOSE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
KEY = re.compile(rb"\x1b[\[O]([0-9;]*)([A-Za-z~])|\x1b|[\xc2-\xf4][\x80-\xbf]+|.", re.DOTALL)
Handler = Callable[[int, FrameType | None], object]
NAMED = {
    b"\x1b": "esc", b"\r": "enter", b"\n": "enter", b"\t": "tab", b"\x7f": "backspace", b"\x08": "backspace",
    b"\x15": "clear", b"\x0c": "redraw", b"\x04": "page down",
}  # fmt: skip
SEQUENCES = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "back tab",
    "5~": "page up", "6~": "page down", "1~": "home", "4~": "end", "7~": "home", "8~": "end",
}  # fmt: skip


class FullScreen:
    """Owns the terminal while it is open, also across Ctrl-Z and resizes."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._shown: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> FullScreen:
        with ExitStack() as stack:
            stack.enter_context(self._waking())
            stack.callback(self._close)
            self._open()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        self._before = termios.tcgetattr(self._descriptor)
        changed = termios.tcgetattr(self._descriptor)
        changed[0] &= ~(termios.IXON | termios.ICRNL)
        changed[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)  # Ctrl-C and Ctrl-Z stay signals
        changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, changed)
        self._write(OPEN)
        self._shown = []

    def _close(self) -> None:
        self._write(CLOSE)
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._before)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give the terminal to another program for a while."""
        self._close()
        try:
            yield
        finally:
            self._open()

    @contextmanager
    def _waking(self) -> Iterator[None]:
        """Let signals end a wait for keys."""
        self._woken, waker = os.pipe()
        for end in (self._woken, waker):
            os.set_blocking(end, False)
        handlers: dict[int, Handler] = {
            signal.SIGWINCH: self._forget, signal.SIGTSTP: self._suspend,
            signal.SIGTERM: _leave, signal.SIGHUP: _leave,
        }  # fmt: skip
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        old = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(old)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._woken)
            os.close(waker)

    def _forget(self, *_: object) -> None:
        """Write everything with the next rows: the size has changed."""
        self._shown = []

    def _suspend(self, number: int, _: FrameType | None) -> None:
        with self.lent():
            handler = signal.signal(number, signal.SIG_DFL)
            try:
                signal.raise_signal(number)  # it returns when the shell continues it
            finally:
                signal.signal(number, handler)

    def redraw(self) -> None:
        """Write everything anew with the next rows."""
        self._forget()

    @staticmethod
    def size() -> tuple[int, int]:
        return area.size()

    def show(self, rows: Sequence[str]) -> None:
        """Write the rows that have changed, in one piece."""
        before = self._shown
        text = "" if before else "\x1b[2J"
        for number, row in enumerate(rows):
            if number >= len(before) or before[number] != row:
                text += f"\x1b[{number + 1};1H{row}\x1b[0m\x1b[K"
        self._shown = list(rows)
        if text:
            self._write(text)

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):  # the terminal is gone; a SIGHUP follows
            sys.stdout.write(text)
            sys.stdout.flush()

    def wait(self, seconds: float, *descriptors: int) -> tuple[str, ...]:
        """Wait until a key is pressed, a signal arrives or one of the descriptors has news; return the keys."""
        ready = select.select([self._descriptor, self._woken, *descriptors], [], [], max(seconds, 0))[0]
        if self._woken in ready:
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)
        if self._descriptor not in ready:
            return ()
        data = os.read(self._descriptor, 1024)
        if not data:
            raise EOFError
        return tuple(filter(None, map(_named, KEY.finditer(data))))


def _named(found: re.Match[bytes]) -> str:
    """Return the name of a key; empty for one that has none here."""
    if found[2]:
        letter = found[2].decode()
        return SEQUENCES.get(f"{found[1].decode()}~" if letter == "~" else letter, "")
    if found[0] in NAMED:
        return NAMED[found[0]]
    text = found[0].decode(errors="ignore")
    return text if text.isprintable() else ""


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
