"""A brand: a number that every process inherits, whatever it does to its environment, session and parents (Linux).

It is the soft limit for how long a real-time process may compute without a pause: weeks, so it limits nothing.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from ralph.process.table import read_file

LIMIT = 15  # RLIMIT_RTTIME, which the module `resource` does not name
LABEL = b"Max realtime timeout"
LOWEST = 1 << 40  # microseconds


def brand_for(owner: str) -> int:
    """Return the number for all that `owner` starts; its name is unique, and so the number is, nearly."""
    return LOWEST + crc32(owner.encode())


@contextmanager
def branding(number: int) -> Iterator[None]:
    """Brand this process, and so all that it starts in this block; nothing happens where that is impossible."""
    try:
        before = resource.getrlimit(LIMIT)
        resource.setrlimit(LIMIT, (number, before[1]))
    except (ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(LIMIT, before)


def brand_of(pid: int) -> int:
    """Return the brand of a process; 0 if it has none."""
    _, _, rest = read_file(f"/proc/{pid}/limits").partition(LABEL)
    soft = rest.split(maxsplit=1)[0] if rest else b""
    return int(soft) if soft.isdigit() and int(soft) >= LOWEST else 0
