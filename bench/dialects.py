"""What reading structured output costs: a call's whole output through a reader, in pieces as a pipe gives them."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from bench.measure import folder, seconds
from bench.table import Row
from ralph.agent.dialects import DIALECTS
from ralph.agent.transcript import Transcript

SIZE, PIECE, ROUNDS = 20_000_000, 1 << 18, 5
SAMPLES = Path(__file__).parents[1] / "tests" / "data"


def rows() -> list[Row]:
    names = [name for name, dialect in DIALECTS.items() if dialect.is_structured]
    with folder() as place:
        times = {name: _times(name, place / name) for name in names}
        peaks = {name: _peak(name, place / name) for name in names}
    slowest = max(times, key=lambda name: times[name][0] / times[name][1])
    largest = max(peaks, key=lambda name: peaks[name])
    size = f"{SIZE // 1_000_000} MB"
    return [
        Row(
            group="dialects",
            what=f"structured output: time, {size} ({slowest})",
            measured=times[slowest][0] / times[slowest][1],
            unit="x",
            limit=3,
            parts={"reader": times[slowest][0] * 1000, "lines": times[slowest][1] * 1000},
        ),
        Row(
            group="dialects",
            what=f"structured output: memory, {size} ({largest})",
            measured=peaks[largest],
            unit="MB",
            limit=10,
            parts=peaks,
            parts_unit="MB",
        ),
    ]


def _times(name: str, path: Path) -> tuple[float, float]:
    """The best seconds of the reader, and of a loop that only reads the lines as JSON."""
    sample = next(iter(sorted((SAMPLES / name).glob("success*.jsonl")))).read_bytes().rstrip(b"\n") + b"\n"
    path.write_bytes(sample * (SIZE // len(sample)))
    pairs = [(seconds(lambda: _read(name, path)), seconds(lambda: _lines(path))) for _ in range(ROUNDS)]
    readers, loops = zip(*pairs, strict=True)
    return min(readers), min(loops)


def _read(name: str, path: Path) -> None:
    reader = DIALECTS[name].reader(Transcript())
    _pieces(path, reader.feed)
    reader.close()


def _pieces(path: Path, take: Callable[[bytes], None]) -> None:
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE):
            take(piece)


def _lines(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"{"):
                json.loads(line)


def _peak(name: str, path: Path) -> float:
    """The most that the reader and the piece it is given ever had allocated, in MB."""
    tracemalloc.start()
    try:
        _read(name, path)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
