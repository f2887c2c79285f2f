"""What the tests with real processes share: orphans that come home, and a look at who is alive."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralph.process import tree
from tests import warm
from tests.conftest import Project, wait_for
from tests.integration import engine

FOREVER = 300  # seconds that no test waits for: whatever sleeps so long is ended by what is tested

ODD_NAMES = (
    "two words.txt",
    "-leading-dash",
    "--all",
    "äöü-日本.txt",
    "line\nbreak.txt",
    "tab\there",
    'quo"ted',
    "back\\slash",
    "*",
    ":(top)magic",
    "#hash",
    "!bang",
    " spaces around ",
    "a folder/with -dash/in\nit",
)


@pytest.fixture
def nobody_left() -> Iterator[None]:
    """As in a run, orphans become our children; when the test ends none of them is left, not even as a zombie."""
    warm.rest()
    tree.adopt_orphans()
    yield
    left = psutil.Process().children(recursive=True)
    told = [f"{process.pid} {process.status()}" for process in left]
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=10)
    if sys.platform.startswith("linux"):
        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 0, 0, 0, 0)
    assert not told, f"processes outlived the test: {told}"


@pytest.fixture
def person(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project, and its person's git settings as our own."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, project.env[name])
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return project


@pytest.fixture
def played(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that plays an agent (`engine.py`) is installed."""
    folder = tmp_path_factory.mktemp("site-packages")
    engine.install(folder)
    monkeypatch.syspath_prepend(folder)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def reap() -> None:
    """Take leave of every child that ended; none may be alive."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def numbers(text: bytes | str) -> list[int]:
    """The process numbers that a script printed, one or more to a line."""
    return [int(word) for word in text.split() if word.isdigit()]


def written(path: Path) -> bool:
    """Whether a whole line is in a file."""
    return path.exists() and path.read_text().endswith("\n")


def wait_until_written(path: Path) -> str:
    wait_for(lambda: written(path), what=f"{path.name} is written")
    return path.read_text()


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    """The same as `wait_for`, while other things go on."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)


@contextmanager
def in_the_background(*argv: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process beside the test that never outlives the block."""
    with subprocess.Popen(argv, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def executable(path: Path, text: str) -> Path:
    """A program a test wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def add_submodule(project: Project, path: str = "lib") -> None:
    """A library of its own in a folder."""
    library = project.folder / "library"
    library.mkdir()
    project.git("-C", str(library), "init", "-q")
    (library / "file.txt").write_text("library\n")
    project.git("-C", str(library), "add", ".")
    project.git("-C", str(library), "commit", "-q", "-m", "A library")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), path)
    project.git("commit", "-q", "-m", "with a library")
