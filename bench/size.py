"""What a large plan adds to an iteration, beside what reading, writing and committing its file costs."""

from __future__ import annotations

from statistics import median

from bench import bare
from bench.measure import folder
from bench.pace import Pair, column, pairs
from bench.table import Row

LARGE, SMALL = 10_000, 10
PENDING, ROUNDS = 9, 3


def rows() -> list[Row]:
    large: list[Pair] = []
    small: list[Pair] = []
    with folder() as place:
        for _ in range(ROUNDS):
            large += pairs(place / "large", bare.in_python, stories=LARGE, pending=PENDING)
            small += pairs(place / "small", bare.in_python, stories=SMALL, pending=PENDING)
    ralph, loop = (median(column(large, side)) - median(column(small, side)) for side in (0, 1))
    return [
        Row(
            group="size",
            what=f"size: {LARGE:,} stories instead of {SMALL}, per iteration",
            measured=ralph / loop,
            unit="x",
            limit=1.5,
            parts={"ralph": ralph, "the file itself": loop},
        )
    ]
