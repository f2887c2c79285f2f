"""The real agents that end-to-end tests drive, each installed once into a cache of the project."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".cache" / "agents"
PROGRAMS = FOLDER / "node_modules" / ".bin"
CLAUDE_CODE = "@anthropic-ai/claude-code"
CLAUDE_VERSION = "2.1.325"
INSTALL_SECONDS = 600


class NotAvailable(Exception):
    """An agent cannot be had here; says why."""


def claude_code() -> Path:
    """The pinned Claude Code program, installed by whichever test worker comes first."""
    program = PROGRAMS / "claude"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time():
        if not _is_ready(program):
            _install_once()
        if not _is_ready(program):
            raise NotAvailable(f"{program} was installed, but does not start")
    return program


def _is_ready(program: Path) -> bool:
    try:
        return _run([str(program), "--version"], 60).startswith(CLAUDE_VERSION)
    except NotAvailable:
        return False


def _install_once() -> None:
    """Install it, unless another worker of this test run has just failed to."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    failed = FOLDER / "failed"
    if run and failed.exists() and failed.read_text().startswith(run):
        raise NotAvailable(failed.read_text().removeprefix(run).strip())
    try:
        _install()
    except NotAvailable as reason:
        failed.write_text(f"{run}\n{reason}\n")
        raise
    failed.unlink(missing_ok=True)


def _install() -> None:
    """Newer npm versions leave install scripts out, so the one that puts the program in place is run by hand."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise NotAvailable("npm is not installed")
    package = f"{CLAUDE_CODE}@{CLAUDE_VERSION}"
    _run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(FOLDER), package])
    _run([node, str(FOLDER / "node_modules" / CLAUDE_CODE / "install.cjs")])


def _run(command: list[str], seconds: float = INSTALL_SECONDS) -> str:
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(str(error)) from None
    if done.returncode:
        raise NotAvailable(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
