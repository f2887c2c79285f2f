"""A person's untracked files are hidden from an agent's `git add -A` while a run goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph.stores import atomic

BEGIN = "# >>> ralph: files that were here before the run; this block goes when it ends"
END = "# <<< ralph"


@contextmanager
def raised(common_dir: Path, paths: Iterable[str]) -> Iterator[None]:
    """List `paths` in `info/exclude` for the duration of the block."""
    exclude = common_dir / "info" / "exclude"
    lines = [_pattern(path) for path in paths]
    lower(common_dir)
    if not lines:
        yield
        return
    exclude.parent.mkdir(parents=True, exist_ok=True)
    before = exclude.read_bytes() if exclude.exists() else b""
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    block = "\n".join((BEGIN, *lines, END, "")).encode(errors="surrogateescape")
    atomic.write(exclude.resolve(), before + gap + block)
    try:
        yield
    finally:
        lower(common_dir)


def lower(common_dir: Path) -> None:
    """Take our block out again, also one that a killed run left; everything else stays as it is."""
    exclude = common_dir / "info" / "exclude"
    try:
        text = exclude.read_bytes()
    except FileNotFoundError:
        return
    kept: list[bytes] = []
    inside = False
    for line in text.splitlines(keepends=True):
        inside = inside or line.rstrip() == BEGIN.encode()
        if not inside:
            kept.append(line)
        inside = inside and line.rstrip() != END.encode()
    if b"".join(kept) != text:
        atomic.write(exclude.resolve(), b"".join(kept))


def _pattern(path: str) -> str:
    """A path as a pattern that matches it and nothing else."""
    escaped = "".join(f"\\{c}" if c in "\\*?[" else "?" if c in "\n\r" else c for c in path)
    if escaped.endswith(" "):
        escaped = escaped[:-1] + "\\ "
    return f"/{escaped}"
