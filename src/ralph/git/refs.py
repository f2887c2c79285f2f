"""Reads refs from git's own files, without a process for each. Ralph supports no other storage of refs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ralph.git.read import ATTEMPTS, NUMBER

PACKED = "packed-refs"


def read_ref(git_dir: Path, ref: str, length: int) -> str | None:
    """Return the commit of a ref; "" if there is none, and None if git must be asked."""
    try:  # first the file: git writes a ref to `packed-refs` before it removes the file
        line = (git_dir / ref).read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return dict(_packed(git_dir)).get(ref, "")
    except (OSError, UnicodeDecodeError):
        return None
    return line if len(line) == length and line.isalnum() else None


def last_attempts(git_dir: Path, target: str) -> dict[str, int]:
    """Return the number of each task's last attempt that is kept."""
    prefix, numbers = f"{ATTEMPTS}/{target}", dict[str, int]()
    for ref in (*_files_below(git_dir, prefix), *(ref for ref, _ in _packed(git_dir))):
        task, _, number = ref.removeprefix(f"{prefix}/").rpartition("/")
        if ref.startswith(f"{prefix}/") and NUMBER.fullmatch(number):
            numbers[task] = max(int(number), numbers.get(task, 0))
    return numbers


def _files_below(git_dir: Path, prefix: str) -> Iterator[str]:
    for folder, _, names in os.walk(git_dir / prefix):
        yield from (str((Path(folder) / name).relative_to(git_dir)) for name in names)


def _packed(git_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield each packed ref and its commit."""
    try:
        text = (git_dir / PACKED).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    for line in text.split("\n"):
        commit, _, ref = line.partition(" ")
        if ref and not line.startswith(("#", "^")):
            yield ref, commit
