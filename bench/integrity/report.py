"""What the matrix means: the counts, the rates for assumed frequencies of each behaviour, and what slips through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.integrity.arms import Kind
from bench.integrity.behaviours import BEHAVIOURS
from bench.integrity.matrix import Cell

MODELS = ("frontier", "typical", "weak")
ATTEMPTS = 3
FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Shares:
    """What becomes of one attempt, as shares of 1."""

    done: float  # accepted, and right
    false: float  # accepted, and wrong
    refused: float
    held: float  # left to a person, or the arm hangs
    good: float  # right work
    good_lost: float  # right work that was not accepted

    @property
    def false_done(self) -> float:
        """Of what is called done, the share that is not."""
        accepted = self.done + self.false
        return self.false / accepted if accepted else 0.0

    @property
    def good_refused(self) -> float:
        return self.good_lost / self.good if self.good else 0.0

    @property
    def attempts(self) -> float:
        """Attempts for each story that is truly done; a refused attempt is followed by another."""
        return 1 / self.done if self.done else float("inf")

    def after(self, attempts: int) -> tuple[float, float, float]:
        """The stories that are truly done, falsely done, or left to a person, after so many attempts at most."""
        tries = sum(self.refused**number for number in range(attempts))
        return self.done * tries, self.false * tries, self.held * tries


def shares(cells: Sequence[Cell], weights: Mapping[str, float]) -> Shares:
    """Weigh the cells of one arm; weights of behaviours that were not played do not count."""
    played = Counter(cell.behaviour for cell in cells)
    total = sum(weights[letter] for letter in played)

    def share(holds: Callable[[Cell], bool]) -> float:
        return sum(weights[cell.behaviour] / total / played[cell.behaviour] for cell in cells if holds(cell))

    return Shares(
        done=share(lambda cell: cell.kind is Kind.ACCEPTED and not cell.is_false),
        false=share(lambda cell: cell.is_false),
        refused=share(lambda cell: cell.kind is Kind.REFUSED),
        held=share(lambda cell: cell.kind in (Kind.HELD, Kind.HUNG)),
        good=share(lambda cell: BEHAVIOURS[cell.behaviour].is_right),
        good_lost=share(lambda cell: BEHAVIOURS[cell.behaviour].is_right and cell.kind is not Kind.ACCEPTED),
    )


def weights_of(model: str) -> dict[str, float]:
    return {letter: one.weights[MODELS.index(model)] for letter, one in BEHAVIOURS.items()}


def sweep(cells: Sequence[Cell], model: str) -> list[Shares]:
    """The shares if each weight in turn is half of what is assumed, or double."""
    weights = weights_of(model)
    changed = [{**weights, letter: weights[letter] * factor} for letter in weights for factor in FACTORS]
    return [shares(cells, one) for one in (weights, *changed)]


def render(cells: Sequence[Cell], arms: Sequence[str]) -> str:
    return "\n\n".join((_matrix(cells, arms), _rates(cells, arms), *(_slips(cells, arm) for arm in arms)))


def as_json(cells: Sequence[Cell], arms: Sequence[str]) -> dict[str, object]:
    return {
        "weights": {model: weights_of(model) for model in MODELS},
        "rates": {model: {arm: rates(cells, arm, model).as_json() for arm in arms} for model in MODELS},
        "cells": [cell.as_json() for cell in sorted(cells, key=lambda cell: (cell.behaviour, cell.story, cell.arm))],
    }


@dataclass(frozen=True)
class Rates:
    """The numbers of one arm for one assumed model."""

    shares: Shares
    false_done: tuple[float, float]  # the least and the most of the sweep

    def as_json(self) -> dict[str, object]:
        truly, falsely, held = self.shares.after(ATTEMPTS)
        return {
            "falseDone": round(self.shares.false_done, 4),
            "falseDoneSwept": [round(share, 4) for share in self.false_done],
            "goodNotAccepted": round(self.shares.good_refused, 4),
            "attemptsPerTrulyDone": round(self.shares.attempts, 3),
            "trulyDone": round(truly, 4),
            "falselyDone": round(falsely, 4),
            "heldOrHung": round(held, 4),
        }

    def cells(self) -> list[str]:
        """What LINES name."""
        low, high = self.false_done
        swept = f"({low * 100:.1f}–{high * 100:.1f})"
        return [
            f"{_percent(self.shares.false_done)} {swept}",
            _percent(self.shares.good_refused),
            f"{self.shares.attempts:.2f}",
            *map(_percent, self.shares.after(ATTEMPTS)),
        ]


LINES = (
    "called done, but is not",
    "good work not accepted",
    "attempts per truly done story",
    f"truly done in {ATTEMPTS} attempts",
    f"falsely done in {ATTEMPTS} attempts",
    "held for a person, or hangs",
)


def rates(cells: Sequence[Cell], arm: str, model: str) -> Rates:
    swept = sweep(_of(cells, arm), model)
    false = [one.false_done for one in swept]
    return Rates(swept[0], (min(false), max(false)))


def _of(cells: Sequence[Cell], arm: str) -> list[Cell]:
    return [cell for cell in cells if cell.arm == arm]


def _matrix(cells: Sequence[Cell], arms: Sequence[str]) -> str:
    rows = [["behaviour", *arms]]
    for letter, behaviour in BEHAVIOURS.items():
        row = [[cell for cell in _of(cells, arm) if cell.behaviour == letter] for arm in arms]
        if any(row):
            rows.append([f"{letter}  {behaviour.name}", *map(_counts, row)])
    left = [sum(cell.left for cell in _of(cells, arm)) for arm in arms]
    return f"{_table(rows)}\n\nprocesses left running: {_listed(arms, left)}"


def _counts(cells: Sequence[Cell]) -> str:
    """Such as `8 FALSE, 16 refused: gate`."""
    words = Counter(_word(cell) for cell in cells)
    return ", ".join(f"{count} {word}" for word, count in words.most_common())


def _word(cell: Cell) -> str:
    if cell.kind is Kind.ACCEPTED:
        return "FALSE" if cell.is_false else "done"
    return f"{cell.kind.value}: {cell.by}" if cell.by else cell.kind.value


def _rates(cells: Sequence[Cell], arms: Sequence[str]) -> str:
    rows = [["of an assumed model", *arms]]
    for model in MODELS:
        columns = [rates(cells, arm, model).cells() for arm in arms]
        rows += [[f"{model}: {what}", *row] for what, *row in zip(LINES, *columns, strict=True)]
    return _table(rows)


def _slips(cells: Sequence[Cell], arm: str) -> str:
    """What an arm calls done although the oracle says that it is not, by behaviour and variant."""
    return "\n".join((f"What {arm} does not catch:", *(_false(_of(cells, arm)) or ["  nothing that was played here"])))


def _false(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for letter, behaviour in BEHAVIOURS.items():
        played = [cell for cell in cells if cell.behaviour == letter]
        for variant in sorted({cell.variant for cell in played}):
            same = [cell for cell in played if cell.variant == variant]
            false = sum(cell.is_false for cell in same)
            if false:
                lines.append(f"  {letter}  {variant or behaviour.name}: {false} of {len(same)}")
    return lines


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _listed(arms: Sequence[str], numbers: Sequence[int]) -> str:
    return ", ".join(f"{arm} {number}" for arm, number in zip(arms, numbers, strict=True))


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join("  ".join(_padded(line, widths)).rstrip() for line in lines)


def _padded(line: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    return (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
