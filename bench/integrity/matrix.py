"""Plays every behaviour on every story against every arm, and asks the oracle about what was accepted."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from bench.integrity.arms import Arm, Kind, Verdict
from bench.integrity.behaviours import Behaviour
from bench.integrity.stories import Story
from bench.integrity.workshop import Hung, Oracle, end_daemon, prepare, unsound

SECONDS = 300.0  # that an arm may take for one attempt
SECONDS_TO_HANG = 60.0  # the same with an agent that hangs; Ralph gives such an agent 10 s
WAITING = 16  # attempts at the same time of agents that hang: they need no processor


class Unsound(Exception):
    """The benchmark itself is wrong; the message names the stories."""


class Failed(Exception):
    """An arm could not make an attempt at all; the message names it and says why."""


@dataclass(frozen=True)
class Cell:
    """What one arm did with one behaviour on one story."""

    story: str
    behaviour: str
    variant: str
    arm: str
    kind: Kind
    by: str
    right: bool | None  # what the oracle says about accepted work
    left: bool  # a process of the agent was still running afterwards
    seconds: float

    @property
    def is_false(self) -> bool:
        return self.kind is Kind.ACCEPTED and not self.right

    def as_json(self) -> dict[str, object]:
        return {**vars(self), "kind": self.kind.value, "seconds": round(self.seconds, 2)}


def check(stories: Sequence[Story], place: Path, jobs: int) -> None:
    """Raise `Unsound` unless the gate and the oracle of each story say what they should about each version."""
    oracle = Oracle(place / "oracle")
    with ThreadPoolExecutor(jobs) as pool:
        wrong = [line for lines in pool.map(lambda story: unsound(story, place, oracle), stories) for line in lines]
    if wrong:
        raise Unsound("\n".join(wrong))


def play(
    stories: Sequence[Story],
    behaviours: Sequence[Behaviour],
    arms: Sequence[Arm],
    place: Path,
    *,
    jobs: int,
    patience: float = SECONDS_TO_HANG,
) -> list[Cell]:
    """Make all attempts; those of agents that hang beside the others, and with so many seconds for each."""
    oracle = Oracle(place / "oracle")
    with ThreadPoolExecutor(jobs) as working, ThreadPoolExecutor(WAITING) as waiting:
        cells = [
            pool.submit(_cell, story, behaviour, arm, place, oracle, limit)
            for behaviour in behaviours
            for pool, limit in [(waiting, patience) if behaviour.hangs else (working, SECONDS)]
            for story in stories
            for arm in arms
        ]
        try:
            return list(_watched(cells))
        except BaseException:
            for cell in cells:
                cell.cancel()
            raise


def _watched(cells: Sequence[Future[Cell]]) -> Iterator[Cell]:
    for number, cell in enumerate(as_completed(cells), 1):
        yield cell.result()
        said = f"{number} of {len(cells)} attempts"
        if sys.stderr.isatty():
            print(f"\r{said}", end="", file=sys.stderr)
        elif number % 100 == 0:
            print(said, file=sys.stderr)


def _cell(story: Story, behaviour: Behaviour, arm: Arm, place: Path, oracle: Oracle, limit: float) -> Cell:
    folder = place / "attempts" / arm.name / behaviour.letter / story.language.name / story.name
    done = behaviour.play(story)
    task = prepare(folder, story, done, limit=limit)
    began = time.perf_counter()
    try:
        verdict = arm.attempt(task)
    except Hung:
        verdict = Verdict(Kind.HUNG)
    except Exception as error:
        raise Failed(f"{arm.name}, {behaviour.letter}, {story.id}: {error}") from error
    took = time.perf_counter() - began
    left = end_daemon(task)
    right = oracle.judge(task, verdict.landed) if verdict.kind is Kind.ACCEPTED else None
    shutil.rmtree(folder, ignore_errors=True)
    return Cell(
        story=story.id,
        behaviour=behaviour.letter,
        variant=done.variant,
        arm=arm.name,
        kind=verdict.kind,
        by=verdict.by,
        right=right,
        left=left,
        seconds=took,
    )


def processors() -> int:
    return os.cpu_count() or 1
