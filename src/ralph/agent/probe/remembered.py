"""Which configurations have been probed with success: one small file for each, outside of every project."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from ralph import __version__
from ralph.agent.dialects import known
from ralph.config import Provider
from ralph.workspace import cache_folder

FOLDER = "probes"


def is_probed(provider: Provider) -> bool:
    """Return whether a probe can say anything: the scripted agent only does what its script says."""
    agent = known(provider)
    return agent is None or agent.name != "scripted"


def digest_of(provider: Provider, program: Path, *, must_write: bool) -> str:
    """Return a name for exactly this configuration and program.

    The program's file stands for its version: asking for that can take seconds. An installation changes the file's
    time of change, whatever else it keeps.
    """
    file = program.resolve()
    with suppress(OSError):
        status = file.stat()
        parts = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        seen = repr((__version__, provider, known(provider), must_write, str(file), parts))
        return hashlib.sha256(seen.encode(errors="surrogateescape")).hexdigest()[:24]
    return ""


def is_remembered(digest: str) -> bool:
    return bool(digest) and (cache_folder() / FOLDER / digest).is_file()


def remember(digest: str) -> None:
    """Note that a probe succeeded; if that cannot be written, the next run probes again."""
    with suppress(OSError):
        folder = cache_folder() / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        (folder / digest).touch()
