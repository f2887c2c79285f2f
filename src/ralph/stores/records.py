"""The write-ahead records of attempts, saved before an attempt starts and after each of its steps."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.plan.attempt import Record
from ralph.stores import atomic

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SUFFIX = ".attempt.json"


@cache
def _adapter() -> TypeAdapter[Record]:
    """Created on first use, because it takes some milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def save(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    atomic.write(path, _adapter().dump_json(record))
    return path


def load(folder: Path, target: str = "*") -> list[Record]:
    """Return every unfinished attempt of a target, or of all targets."""
    found = (_read(path) for path in sorted(folder.glob(f"{target}/*{SUFFIX}")))
    return [record for record in found if record]


def remove(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    path.unlink(missing_ok=True)
    return path


def _path(folder: Path, record: Record) -> Path:
    return folder / record.target / f"{record.work}.{record.number}{SUFFIX}"


def _read(path: Path) -> Record | None:
    try:
        return _adapter().validate_json(safe_files.read(path) or b"")
    except (OSError, ValueError):  # pydantic's own error is a ValueError
        return None
