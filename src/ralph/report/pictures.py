"""Reads the screenshots that a journal names: only pictures, and only of the project."""

from __future__ import annotations

from pathlib import Path

from ralph import safe_files
from ralph.workspace import is_inside

PNG = b"\x89PNG\r\n\x1a\n"
MAX_PICTURE = 3_000_000


def picture(root: Path, path: str) -> bytes:
    """Return a screenshot below `root`; empty if there is none that can be shown."""
    try:
        if not path or not is_inside(path) or _leads_away(root, path):
            return b""
        with safe_files.open_old(root / path) as file:
            data = file.read(MAX_PICTURE + 1)
    except (OSError, ValueError):  # also a name that cannot be one
        return b""
    return data if data.startswith(PNG) and len(data) <= MAX_PICTURE else b""


def _leads_away(root: Path, path: str) -> bool:
    """Return whether a link on the way leads out of the project."""
    return not (root / path).parent.resolve().is_relative_to(root.resolve())
