"""Starts a program that outlives this one and its terminal."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError

Detached = subprocess.Popen[bytes]


def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Detached:
    """Start a program in a session of its own; all of its output goes to a new file."""
    with safe_files.open_new(output) as file:
        try:
            return subprocess.Popen(
                list(argv), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise RalphError(f"{argv[0]!r} could not be started: {error.strerror}.") from None
