"""Restricts itself with Landlock and becomes the program.

Usage: landlock_launcher.py RULES PROGRAM [ARGUMENT…]. RULES is JSON with paths, the ports to connect to (null: all),
and the capabilities that root keeps (null: it is not root). What is in `tops` can be read but what is `hidden`; of
that, what is `shown` can be read. What is `writable` can be written, and what is `shared` besides `kept`. Ralph starts
it with `python -I -S`, so it imports nothing but the standard library.
"""

import ctypes
import json
import os
import struct
import sys
from collections.abc import Iterator

CREATE, ADD, RESTRICT = 444, 445, 446
PATH_RULE, PORT_RULE = 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15  # the rights that a file can have: also truncate, ioctl
CONNECT = 2
SCOPES = 3  # abstract sockets and signals
NO_NEW_PRIVILEGES = 38
CAPABILITIES_VERSION = 0x20080522
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Apply the rules, then start the program."""
    rules, argv = json.loads(sys.argv[1]), sys.argv[2:]
    version = libc.syscall(CREATE, None, 0, 1)
    every = (1 << (13 + (version >= 2) + (version >= 3))) - 1 | (1 << 15 if version >= 5 else 0)
    closes_ports = rules["ports"] is not None and version >= 4
    ruleset = struct.pack("=QQQ", every, CONNECT if closes_ports else 0, SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    handle = _call(CREATE, ruleset, size, 0)
    hidden = rules["hidden"]
    for path in (*(path for top in rules["tops"] for path in _besides(hidden, top)), *rules["shown"]):
        _allow(handle, path, READ & every)
    for folders, exceptions in ((rules["writable"], hidden), (rules["shared"], hidden + rules["kept"])):
        for path in (path for folder in folders for path in _besides(exceptions, folder)):
            _allow(handle, path, every)
    for port in rules["ports"] or () if closes_ports else ():
        _call(ADD, handle, PORT_RULE, struct.pack("=QQ", CONNECT, port), 0)
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _call(RESTRICT, handle, 0)
    if rules["capabilities"] is not None:
        _keep(rules["capabilities"])
    os.execvp(argv[0], argv)


def _keep(capabilities: int) -> None:
    """Give up every other capability; without new privileges, no program that starts from here has more."""
    header, held = struct.pack("=Ii", CAPABILITIES_VERSION, 0), ctypes.create_string_buffer(24)
    _checked(libc.capget(header, held))
    masks = (capabilities & 0xFFFFFFFF, capabilities >> 32)
    words = struct.unpack("=6I", held.raw)  # the lower halves of three sets, then the upper ones
    kept = [word & masks[index // 3] for index, word in enumerate(words)]
    _checked(libc.capset(header, struct.pack("=6I", *kept)))


def _besides(exceptions: list[str], folder: str) -> Iterator[str]:
    """Yield the paths that together are everything in `folder` but the exceptions: Landlock can only allow."""
    if folder in exceptions:
        return
    inside = folder.rstrip("/") + "/"
    inner = [path for path in exceptions if path.startswith(inside)]
    if not inner:
        yield folder
        return
    try:
        entries = [entry.path for entry in os.scandir(folder) if not entry.is_symlink()]
    except OSError:
        return
    for path in entries:
        yield from _besides(inner, path)


def _allow(handle: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is gone needs no permission
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib takes longer to import than all of this
        access &= OF_FILES
    _call(ADD, handle, PATH_RULE, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    return _checked(libc.syscall(number, *arguments))


def _checked(done: int) -> int:
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        os.write(2, f"{sys.argv[2]}: {error.strerror or error}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)
