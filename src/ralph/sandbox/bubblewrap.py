"""Bubblewrap (Linux): a read-only view of the machine, with process and IPC namespaces of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph.sandbox.capabilities import KEPT_BY_ROOT
from ralph.sandbox.permissions import Access, Permissions, is_below

PROGRAM = "bwrap"
PRIVATE = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # each program gets its own
FORWARDER = Path(__file__).with_name("forwarder.py")
NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
WITH_RALPH = ("--die-with-parent", "--new-session")  # a program that signals its own group does not reach bwrap


def is_present(closes: bool) -> bool:
    return sys.platform.startswith("linux") and shutil.which(PROGRAM) is not None


def command(given: Permissions, argv: Sequence[str], cwd: Path) -> list[str]:
    """Return the command line that runs `argv` with these permissions."""
    network = given.network
    alone = [] if network.is_open else ["--unshare-net"]
    ports = ",".join(map(str, network.services))
    forwarder = [sys.executable, "-I", "-S", str(FORWARDER), str(network.socket), ports]
    through = forwarder if network.is_passed_on else []
    return [
        PROGRAM, *_mounts(given.present), *NAMESPACES, *WITH_RALPH, *alone, *_capabilities(),
        "--chdir", str(cwd.resolve()), "--", *through, *argv,
    ]  # fmt: skip


def _mounts(given: Permissions) -> Iterator[str]:
    """Yield mounts from the outermost to the innermost: a later one covers an earlier one."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if os.geteuid() == 0:  # /proc/sys/kernel/core_pattern, for one, names a program that the kernel starts
        yield from ("--remount-ro", "/proc")
    for folder in PRIVATE[:2]:
        if folder.is_dir() and not folder.is_symlink():
            yield from ("--bind", str(given.temporary), str(folder)) if given.temporary else ("--tmpfs", str(folder))
    shared = tuple(dict.fromkeys(_whole(path) for path in (*given.shown, *given.writable) if is_below(path, PRIVATE)))
    for path in shared:
        yield from ("--ro-bind", str(path), str(path))
    hidden = [path for path in given.hidden if is_below(path, shared) or not is_below(path, PRIVATE)]
    for path, access in given.by_depth:
        if access is Access.HIDE and path not in hidden:
            continue  # a private folder has nothing of the machine's
        if access is Access.HIDE:
            yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", os.devnull, str(path))
        elif access is not Access.SHOW or is_below(path, given.hidden):
            yield from ("--bind" if access is Access.WRITE else "--ro-bind", str(path), str(path))
    if given.temporary:
        yield from ("--bind", str(given.temporary), str(given.temporary))
    if given.network.is_passed_on:
        yield from ("--ro-bind", str(given.network.socket), str(given.network.socket))
    for path in filter(Path.is_dir, hidden):  # last, because what is inside needs a place
        yield from ("--remount-ro", str(path))


def _whole(path: Path) -> Path:
    """Return the folder directly in /tmp, /var/tmp or /dev/shm that a path is in."""
    top = next(folder for folder in PRIVATE if is_below(path, (folder,)))
    return top / path.relative_to(top).parts[0] if path != top else path


def _capabilities() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["--cap-drop", "ALL", *(word for name in KEPT_BY_ROOT for word in ("--cap-add", f"CAP_{name}"))]
