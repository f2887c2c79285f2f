"""Runs short programs without an event loop, for commands that only read."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph.errors import RalphError


def capture_now(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> tuple[int, bytes]:
    """Return the exit code and standard output of a short program; 127 if it cannot run or takes too long."""
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            env=None if env is None else dict(env),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 127, b""
    return done.returncode, done.stdout


def hand_over(argv: Sequence[str]) -> int:
    """Give the terminal to a program, such as the person's editor, until it exits."""
    try:
        return subprocess.run(list(argv), check=False).returncode
    except OSError as error:
        raise RalphError(f"{argv[0]!r} could not be started: {error.strerror}.") from None
