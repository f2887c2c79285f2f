"""Tells whether two runs have come to the same point: what is on the disk, but for what chance decides.

Two runs that did the same differ in times, in the numbers of processes, and so in the names of all objects of git. A
digest leaves those out: in place of an object's name it has what the object says, as far as its history goes.
"""

from __future__ import annotations

import os
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from ralph.git.objects import parse_tree
from tests.instants import CACHE, RANDOM, TEMPORARY, UNREAD, look

CHANCE = re.compile(
    rb"\b\d{8}-\d{6}-[0-9a-f]{8}\b"  # a run
    rb"|\b\d{4}-\d\d-\d\dT[\d:.]+Z?"  # a time
    rb"|\b[0-9a-f]{64}\b"  # the digest of something with these in it
    rb"|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,12}\b"  # the beginning of an object's name
    rb"|\b\d+(?:\.\d+)?e-\d+\b|\b\d+\.\d+\b|\b\d{4,}\b"  # seconds, processes, bytes
    rb"|(?<=\"pid\": )\d+"
)
NAME = re.compile(rb"\b[0-9a-f]{40}\b")
RECEIPT = re.compile(rb'(?<="payload":")[^"]+')
UNTOLD = re.compile(r"/project/([\w-]+/)?\.git/logs/|/ralph-")
"""What nobody reads: git's own logs, and temporary folders."""


def digest(folder: str) -> str:
    """Return the digest of all that the next run and its agents can tell."""
    project = Path(folder, "project")
    objects = Objects([project / ".git/objects", *project.glob("*/.git/objects")])
    found = {_entry(path, path.removeprefix(folder), objects) for path in look(folder)}
    return _short(b"\n".join(sorted(found)))


def _entry(path: str, name: str, objects: Objects) -> bytes:
    if name.startswith(CACHE):
        return re.sub(r"(?<=/objects/)../.*|(?<=\.)[0-9a-f]{16}(?=\.tmp$)", "", name).encode()
    if UNREAD.match(name) or UNTOLD.match(name):
        return b""
    plain = RANDOM.sub("", name) if name.startswith("/project/") and TEMPORARY.search(name) else name
    file = Path(path)
    try:
        data = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
    except OSError:
        data = b"gone"
    return plain.encode() + b"\0" + objects.plain(data)


def _short(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


class Objects:
    """The objects of a project's repositories by what they say."""

    def __init__(self, folders: list[Path]) -> None:
        self._folders = folders
        self._known: dict[str, str] = {}

    def plain(self, data: bytes) -> bytes:
        """Return a text without what chance decides, and with what objects say in place of their names."""
        data = RECEIPT.sub(lambda found: b64decode(found[0]), data)
        return NAME.sub(lambda found: self.said(found[0].decode()).encode(), CHANCE.sub(b"#", data))

    def said(self, name: str) -> str:
        if name not in self._known:
            kind, body = self._read(name)
            if not kind:
                return name
            text = b"\n".join(sorted(self._files(body))) if kind == b"tree" else self.plain(body)
            self._known[name] = _short(kind + b" " + text)
        return self._known[name]

    def _read(self, name: str) -> tuple[bytes, bytes]:
        for folder in self._folders:
            try:
                head, _, body = zlib.decompress((folder / name[:2] / name[2:]).read_bytes()).partition(b"\0")
            except OSError:
                continue
            return head.partition(b" ")[0], body
        return b"", b""

    def _files(self, tree: bytes, folder: str = "") -> Iterator[bytes]:
        """Yield the files below a tree; in a tree of notes, a path is the name of the object that it is about."""
        for name, entry in parse_tree(tree, 20).items():
            path = folder + name
            if entry.is_tree:
                yield from self._files(self._read(entry.name)[1], f"{path}/")
            else:
                about = path.replace("/", "").encode()
                told = self.plain(about) if NAME.fullmatch(about) else path.encode()
                yield b" ".join((entry.mode.encode(), told, self.said(entry.name).encode()))
