"""The write-ahead records of attempts, saved before an attempt starts and after each of its steps.

A record that somebody else wrote counts as none: it would say on what an attempt is based, and so what is audited.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.plan.attempt import Record
from ralph.stores import atomic, seal

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SUFFIX = ".attempt.json"
SEAL, END = b',"seal":"', b'"}'


@cache
def _adapter() -> TypeAdapter[Record]:
    """Created on first use, because it takes some milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(Record)


def save(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    data = _adapter().dump_json(record)
    atomic.write(path, data.removesuffix(b"}") + SEAL + seal.seal(SUFFIX, data).encode() + END)
    return path


def load(folder: Path, target: str = "*") -> list[Record]:
    """Return every unfinished attempt of a target, or of all targets."""
    found = (_read(path) for path in sorted(folder.glob(f"{target}/*{SUFFIX}")))
    return [record for record in found if record]


def remove(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    path.unlink(missing_ok=True)
    return path


def discard_forged(folder: Path, target: str) -> list[str]:
    """Remove the records that Ralph did not write, or not as they are; return their names."""
    found = [path for path in sorted(folder.glob(f"{target}/*{SUFFIX}")) if not _read(path)]
    for path in found:
        safe_files.remove_all(path)
    return [path.name for path in found]


def _path(folder: Path, record: Record) -> Path:
    return folder / record.target / f"{record.work}.{record.number}{SUFFIX}"


def _read(path: Path) -> Record | None:
    try:
        begun, found = (safe_files.read(path) or b"").rsplit(SEAL, 1)
        data = begun + b"}"
        return _adapter().validate_json(data) if seal.is_sealed(SUFFIX, data, found.removesuffix(END)) else None
    except (OSError, ValueError):  # pydantic's own error is a ValueError
        return None
