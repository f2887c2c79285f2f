"""Seatbelt (macOS): the same permissions as a profile for `sandbox-exec`. It has not been tried on a Mac."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph.sandbox.permissions import Access, Permissions

PROGRAM = "sandbox-exec"
SHARED = (Path("/private/tmp"), Path("/private/var/tmp"), Path("/private/var/folders"), Path("/dev"))

RULES = {
    Access.HIDE: "deny file-read* file-write*",
    Access.SHOW: "allow file-read*",
    Access.WRITE: "allow file-read* file-write*",
    Access.READ: "deny file-write*",
}


def is_present(closes: bool) -> bool:
    return sys.platform == "darwin" and shutil.which(PROGRAM) is not None


def command(given: Permissions, argv: Sequence[str], cwd: Path) -> list[str]:
    """Return the command line that runs `argv` with these permissions."""
    return [PROGRAM, "-p", profile(given.present), *argv]


def profile(given: Permissions) -> str:
    """Return the rules; the last one that matches decides."""
    return "\n".join(_rules(given)) + "\n"


def _rules(given: Permissions) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    yield from (_rule("allow file-write*", path) for path in SHARED)
    yield from (_rule(RULES[access], path) for path, access in given.by_depth)
    if given.temporary:
        yield _rule("allow file-read* file-write*", given.temporary)
    yield "(deny signal (target others))"
    if not given.network.is_open:
        yield "(deny network*)"
        yield "(allow network* (local unix-socket) (remote unix-socket))"
        for port in (*([given.network.port] if given.network.has_hosts else []), *given.network.services):
            yield f'(allow network-outbound (remote ip "localhost:{port}"))'


def _rule(what: str, path: Path) -> str:
    return f"({what} (subpath {_quoted(path)}))"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
