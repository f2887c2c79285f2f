"""Seals: they tell what Ralph wrote from what somebody else did, by a key outside of every repository.

In the sandbox nothing can read the key. Without a sandbox an agent could, on purpose.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from hashlib import blake2b
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.stores import atomic
from ralph.workspace import data_folder

KEY_BYTES = 32
PRIVATE = 0o600
LENGTH = 64
"""The characters of a seal."""


def seal(purpose: str, data: bytes) -> str:
    """Return the seal of what Ralph is about to write; it holds for one purpose only."""
    made = blake2b(key=_key(data_folder() / "key"), digest_size=LENGTH // 2)
    made.update(purpose.encode(errors="surrogateescape") + b"\0")
    made.update(data)
    return made.hexdigest()


def is_sealed(purpose: str, data: bytes, found: bytes) -> bool:
    return seal(purpose, data).encode() == found


@cache
def _key(path: Path) -> bytes:
    """Read the key, or make one; where none can be kept, one for this process, so that later ones believe nothing."""
    known = safe_files.read(path, KEY_BYTES)
    if known is not None and len(known) == KEY_BYTES and _is_private(path):
        return known
    made = os.urandom(KEY_BYTES)
    try:
        safe_files.remove_all(path)
        atomic.write(path, made, permissions=PRIVATE)
    except (OSError, RalphError):
        pass
    return made


def _is_private(path: Path) -> bool:
    found = path.lstat()
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
