"""Measuring on a noisy machine: what is compared alternates, and medians are compared."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory


class CannotRun(Exception):
    """Something that is measured is not on this machine; the message names it."""


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def spawned(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    """The seconds from a program's start to its end."""
    return seconds(lambda: subprocess.run(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, check=True))


def alternate(rounds: int, actions: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each, with all of them taking turns."""
    samples: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            samples[name].append(action())
    return {name: median(values) for name, values in samples.items()}


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder, without links in its name."""
    with TemporaryDirectory(prefix="bench-") as name:
        yield Path(name).resolve()
