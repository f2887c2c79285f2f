"""Landlock (Linux): the program gives up access to files, other processes and ports before it starts.

It needs no namespaces, so it works inside most containers. It cannot give a program its own /tmp, processes or network.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ralph.sandbox.capabilities import KEPT_BY_ROOT
from ralph.sandbox.permissions import Permissions, is_below

LAUNCHER = Path(__file__).with_name("landlock_launcher.py")
CREATE_RULESET = 444
VERSION_FLAG = 1
DEVICES = tuple(
    Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
)
"""What bubblewrap's own /dev has too: no disks, no memory, no consoles."""
SHARED = (Path("/tmp"), Path("/var/tmp"), *DEVICES)  # it cannot have its own
MIN_VERSION = 3  # from then on it can also refuse to truncate files
NETWORK_VERSION = 4


def version() -> int:
    """Return the version of Landlock in this kernel; 0 if there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    found: int = ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    return max(0, found)


def is_present(closes: bool) -> bool:
    return version() >= (NETWORK_VERSION if closes else MIN_VERSION)


def command(given: Permissions, argv: Sequence[str], cwd: Path) -> list[str]:
    """Return the command line that runs `argv` with these permissions."""
    present, network = given.present, given.network
    temporary = (present.temporary,) if present.temporary else ()
    rules = {
        "tops": ["/", *_names(DEVICES)],
        "hidden": ["/dev", *_names(present.hidden)],
        "shown": _names(path for path in present.shown if is_below(path, present.hidden)),
        "writable": _names((*present.writable, *temporary)),
        "shared": _names(path for path in SHARED if path.exists()),
        "kept": _names(present.shown),
        "capabilities": sum(1 << bit for bit in KEPT_BY_ROOT.values()) if os.geteuid() == 0 else None,
        "ports": None if network.is_open else [*([network.port] if network.has_hosts else []), *network.services],
    }
    return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(rules), *argv]


def _names(paths: Iterable[Path]) -> list[str]:
    return [str(path) for path in paths]
