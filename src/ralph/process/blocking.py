"""Runs short programs without an event loop, for commands that only read."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from ralph.errors import RalphError
from ralph.process.environment import located

SECONDS = 60.0
"""After how long a program that only reads is ended."""


def capture_now(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    with_errors: bool = False,
) -> tuple[int, bytes]:
    """Return the exit code and output of a short program; 127 if it cannot run or takes too long."""
    try:
        done = subprocess.run(
            located(argv, os.environ if env is None else env),
            cwd=cwd,
            env=None if env is None else dict(env),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_errors else subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 127, b""
    return done.returncode, done.stdout


class OpenProgram:
    """A program that stays open, to be asked one thing after the other."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            located(argv, env), cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        self._deadline = threading.Timer(SECONDS, self._process.kill)
        self._deadline.daemon = True
        self._deadline.start()

    def ask(self, line: bytes) -> IO[bytes]:
        """Send a line and return the stream with the answer; it is at its end if the program has ended."""
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        return self._process.stdout

    def close(self) -> None:
        self._deadline.cancel()
        with suppress(BrokenPipeError):
            self._process.communicate()


def hand_over(argv: Sequence[str]) -> int:
    """Give the terminal to a program, such as the person's editor, until it exits."""
    try:
        return subprocess.run(list(argv), check=False).returncode
    except OSError as error:
        raise RalphError(f"{argv[0]!r} could not be started: {error.strerror}.") from None
