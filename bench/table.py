"""Rows of results and the one table they are printed as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADINGS = ("what", "measured", "limit", "", "from")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number beside its limit, and the numbers it was made from."""

    group: str
    what: str
    measured: float
    unit: str
    limit: float
    parts: Mapping[str, float]
    parts_unit: str = "ms"
    aim: float | None = None

    @property
    def ok(self) -> bool:
        return self.measured <= self.limit

    def cells(self) -> tuple[str, ...]:
        aim = "" if self.aim is None else f" (aim {self.aim:.3g})"
        parts = ", ".join(f"{name} {number(value, self.parts_unit)}" for name, value in self.parts.items())
        limit = f"{self.limit:.4g}{_gap(self.unit)}{aim}"
        return (self.what, number(self.measured, self.unit), limit, "ok" if self.ok else "OVER", parts)

    def as_json(self) -> dict[str, object]:
        return {
            "group": self.group,
            "what": self.what,
            "measured": round(self.measured, 3),
            "unit": self.unit,
            "limit": self.limit,
            "aim": self.aim,
            "ok": self.ok,
            "parts": {name: round(value, 3) for name, value in self.parts.items()},
            "partsUnit": self.parts_unit,
        }


def number(value: float, unit: str) -> str:
    digits = 2 if unit == "x" else 1
    return f"{value:.{digits}f}{_gap(unit)}"


def _gap(unit: str) -> str:
    return unit if unit in ("", "x") else f" {unit}"


def render(rows: Sequence[Row]) -> str:
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_line(cells, widths) for cells in (lines[0], rule, *lines[1:]))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    what, measured, *others = cells
    padded = [what.ljust(widths[0]), measured.rjust(widths[1])]
    padded += [cell.ljust(width) for cell, width in zip(others, widths[2:], strict=True)]
    return "  ".join(padded).rstrip()
