"""`python -m bench integrity [--quick] [--arm NAME …] [--behaviours LETTERS] [--jobs N] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.integrity import matrix, report
from bench.integrity.arms import ARMS
from bench.integrity.behaviours import BEHAVIOURS
from bench.integrity.stories import Story, few, stories
from bench.measure import folder

PROGRAMS = {"python": ("make", "python3"), "node": ("node", "npm"), "shell": ("sh",)}


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    arms = [arm for arm in ARMS if not options.arm or arm.name in options.arm]
    behaviours = [one for letter, one in BEHAVIOURS.items() if letter in options.behaviours]
    chosen, left_out = _runnable(few(stories()) if options.quick else stories())
    began = time.perf_counter()
    with folder() as place:
        try:
            matrix.check(chosen, place / "check", options.jobs)
            cells = matrix.play(chosen, behaviours, arms, place, jobs=options.jobs)
        except (matrix.Unsound, matrix.Failed) as error:
            print(f"failed: {error}", file=sys.stderr)
            return 1
    count = f"{len(chosen)} stories, {len(behaviours)} behaviours, {len(arms)} arms"
    took = f"{len(cells)} attempts in {time.perf_counter() - began:.0f} s"
    names = [arm.name for arm in arms]
    print("\n".join((f"\n{count}: {took}\n", report.render(cells, names), *left_out)))
    if options.json:
        options.json.write_text(json.dumps(report.as_json(cells, names), indent=2) + "\n")
    return 0


def _runnable(chosen: list[Story]) -> tuple[list[Story], list[str]]:
    """Leave out the projects whose programs are not on this machine."""
    missing = {name: [one for one in programs if not shutil.which(one)] for name, programs in PROGRAMS.items()}
    lines = [f"\nleft out: {name}: there is no {' and no '.join(lacks)}" for name, lacks in missing.items() if lacks]
    return [story for story in chosen if not missing[story.language.name]], lines


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench integrity", description="Measure what is called done, and whether it is."
    )
    parser.add_argument("--quick", action="store_true", help="two stories of each project instead of eight")
    parser.add_argument("--arm", action="append", choices=[arm.name for arm in ARMS], help="only this arm; repeatable")
    parser.add_argument("--behaviours", default="".join(BEHAVIOURS), metavar="LETTERS", help="only these, such as HWT")
    parser.add_argument("--jobs", type=int, default=matrix.processors(), metavar="N", help="attempts at the same time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every attempt to FILE as well")
    options = parser.parse_args(argv)
    unknown = set(options.behaviours) - set(BEHAVIOURS)
    if unknown or not options.behaviours:
        parser.error(f"there is no behaviour {''.join(sorted(unknown))!r}: choose from {''.join(BEHAVIOURS)}")
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    return options
