"""Reads the subject of an agent's last commit from its small repository, without starting git there."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from ralph.text import one_line

SHOWN = "chore(ralph): the plan as it is now"
"""The subject of Ralph's own commit, which is the newest in a working copy when an agent starts."""
MAX_COMMIT = 1 << 20
ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def subject_of(folder: Path, base: str) -> str:
    """Return the subject of the checked-out commit; "" if it is `base`, Ralph's own, or cannot be read."""
    head = head_of(folder)
    if not head or head == base:
        return ""
    try:
        packed = (folder / ".git" / "objects" / head[:2] / head[2:]).read_bytes()[:MAX_COMMIT]
        whole = zlib.decompressobj().decompress(packed, MAX_COMMIT)
    except (OSError, zlib.error):
        return ""
    kind, _, data = whole.partition(b"\0")
    if not kind.startswith(b"commit "):
        return ""
    message = data.partition(b"\n\n")[2].decode(errors="replace").strip()
    subject = one_line(message.split("\n", 1)[0])
    return "" if subject == SHOWN else subject


def head_of(folder: Path) -> str:
    """Return the checked-out commit of a small repository; "" if its files do not say."""
    line = _line(folder / ".git" / "HEAD")
    name = line.removeprefix("ref: ")
    if name != line and ".." not in name and not name.startswith("/"):
        line = _line(folder / ".git" / name)
    return line if ID.fullmatch(line) else ""


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip() if path.is_file() and path.stat().st_size < 1000 else ""
    except (OSError, UnicodeDecodeError):
        return ""
