"""Ralph and a bare loop side by side, one story of the one and then one of the other: never both at work."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from select import select
from typing import Self

from bench.project import AGENT, RUN, Project

PACED_AGENT = AGENT.replace("\n", '\necho > "$0.began"; read -r _ < "$0.go"\n', 1)
Bare = Callable[[Project, Path], object]
Pair = tuple[float, float]
MORE_THAN_ENOUGH = 1000


class Paced:
    """A loop whose agent tells when it begins, and then waits until it may go on."""

    def __init__(self, project: Project, loop: Callable[[], object]) -> None:
        self._began, self._go = (_pipe(Path(f"{project.agent}.{name}")) for name in ("began", "go"))
        self._loop = ThreadPoolExecutor(1).submit(loop)
        self._wait()

    def story(self) -> float:
        """Let it go on until its next agent begins; the seconds that took."""
        began = time.perf_counter()
        os.write(self._go, b"\n")
        self._wait()
        return time.perf_counter() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let it go on to its end, also when the other one failed."""
        os.write(self._go, b"\n" * MORE_THAN_ENOUGH)
        wait([self._loop])
        os.close(self._began)
        os.close(self._go)
        if kind is None:
            self._loop.result()

    def _wait(self) -> None:
        while not select([self._began], [], [], 1)[0]:
            if self._loop.done():
                self._loop.result()
                raise RuntimeError("a loop ended before its stories did")
        os.read(self._began, 1)


def _pipe(path: Path) -> int:
    os.mkfifo(path)
    return os.open(path, os.O_RDWR)


def pairs(place: Path, bare: Bare, *, stories: int, pending: int) -> list[Pair]:
    """Seconds from one agent's beginning to the next one's, Ralph's and the bare loop's, taking turns."""
    ours, theirs = (
        Project(place / side, stories=stories, pending=pending, agent=PACED_AGENT) for side in ("ralph", "bare")
    )
    with Paced(ours, lambda: ours.run(RUN)) as ralph, Paced(theirs, lambda: bare(theirs, ours.logs)) as loop:
        times = [(ralph.story(), loop.story()) for _ in range(pending - 1)]
    shutil.rmtree(place)
    return times


def column(times: list[Pair], side: int) -> list[float]:
    """Ralph's (0) or the bare loop's (1) milliseconds."""
    return [pair[side] * 1000 for pair in times]
