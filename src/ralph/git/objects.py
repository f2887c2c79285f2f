"""Reads and writes git objects directly, without a process for each."""

from __future__ import annotations

import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralph.safe_files import open_old

PIECE = 1 << 20
PLAIN = re.compile(r"[^\W_]([\w @.+-]*[^\W_])?")
"""A name or address that git uses as it is: it strips some characters from the ends, and others everywhere."""
IDENT = re.compile(r"(.*) <(.*)> \d+ ([+-]\d{4})\s*")


@dataclass(frozen=True)
class Ident:
    """The author of a commit."""

    name: str = "Ralph"
    email: str = "ralph@localhost"

    @classmethod
    def parse(cls, text: str) -> Ident:
        """Parse the output of `git var GIT_COMMITTER_IDENT`."""
        found = IDENT.fullmatch(text)
        return cls(found[1], found[2]) if found else cls()

    @classmethod
    def in_settings(cls, settings: Mapping[str, str], environment: Mapping[str, str]) -> Ident | None:
        """Return the committer that git would use; None if git must be asked."""
        if any(name.startswith(("GIT_COMMITTER_", "GIT_AUTHOR_")) or name == "EMAIL" for name in environment):
            return None
        name, email = (settings.get(f"committer.{one}", settings.get(f"user.{one}", "")) for one in ("name", "email"))
        return cls(name, email) if PLAIN.fullmatch(name) and PLAIN.fullmatch(email) else None

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables with which another git uses this author."""
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", self.name), ("EMAIL", self.email))
        }


def commit_object(tree: str, parents: Iterable[str], ident: Ident, message: str) -> bytes:
    zone = time.strftime("%z") or "+0000"
    who = f"{ident.name} <{ident.email}> {int(time.time())} {zone}"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
    text = message.replace("\0", "").rstrip() + "\n"
    return ("\n".join(lines) + f"\n\n{text}").encode(errors="replace")


def batched(out: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Parse the output of `git cat-file --batch`: each object's kind and content in order; None if it is missing."""
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        _, kind, *size = out[position:end].split(b" ")
        position = end + 1
        if size:
            yield kind, out[position : position + int(size[0])]
            position += int(size[0]) + 1
        else:
            yield kind, None


def write_object(git_dir: Path, kind: str, data: bytes, algorithm: str = "sha1") -> str:
    """Write a loose object and return its name; replace an existing file with that name and other content."""
    whole = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.new(algorithm, whole).hexdigest()
    path = loose(git_dir, name)
    if not _has_content(path, whole):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"tmp_obj_{os.urandom(6).hex()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(zlib.compress(whole, 1))
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        temporary.replace(path)
    return name


def loose(git_dir: Path, name: str) -> Path:
    """Return the path of a loose object."""
    return Path(f"{git_dir}/objects/{name[:2]}/{name[2:]}")


def _has_content(path: Path, whole: bytes) -> bool:
    try:
        with open_old(path) as file:
            return zlib.decompressobj().decompress(file.read(), len(whole) + 1) == whole
    except (OSError, zlib.error):
        return False


def digest_of(path: Path, algorithm: str) -> str:
    """Return the correct name of the object in a file; "" if it is not an object."""
    digest, unpack = hashlib.new(algorithm), zlib.decompressobj()
    try:
        with open_old(path) as file:
            while data := unpack.unconsumed_tail or file.read(PIECE):
                digest.update(unpack.decompress(data, PIECE))
    except (OSError, zlib.error):
        return ""
    return digest.hexdigest() if unpack.eof and not unpack.unused_data else ""


def blob_name(path: Path, algorithm: str) -> str:
    """Return git's name for a blob with a file's exact bytes; "" if it cannot be read."""
    try:
        with open_old(path) as file:
            digest = hashlib.new(algorithm, b"blob %d\0" % os.fstat(file.fileno()).st_size)
            while data := file.read(PIECE):
                digest.update(data)
    except OSError:
        return ""
    return digest.hexdigest()


def blob_id(data: bytes, algorithm: str) -> str:
    """Return git's name for a blob with this content."""
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data).hexdigest()


def packs(git_dir: Path) -> frozenset[tuple[object, ...]]:
    """Return the state of all pack files, to detect changes."""
    found = set()
    with suppress(OSError), os.scandir(git_dir / "objects" / "pack") as entries:
        for entry in entries:
            stat = entry.stat(follow_symlinks=False)
            found.add((entry.name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return frozenset(found)


def read_object(git_dir: Path, name: str) -> bytes | None:
    """Return a loose object's data; None if it is packed or elsewhere."""
    whole = _loose_bytes(git_dir, name)
    return None if whole is None else whole.partition(b"\0")[2]


def loose_tree(git_dir: Path, name: str, algorithm: str) -> str:
    """Return the tree of a loose commit, or a loose tree itself; "" if git must be asked."""
    whole = _loose_bytes(git_dir, name)
    if whole is None or hashlib.new(algorithm, whole).hexdigest() != name:
        return ""
    head, _, data = whole.partition(b"\0")
    if head.startswith(b"tree "):
        return name
    return data[5 : data.index(b"\n")].decode() if head.startswith(b"commit ") else ""


def _loose_bytes(git_dir: Path, name: str) -> bytes | None:
    try:
        return zlib.decompress(loose(git_dir, name).read_bytes())
    except (OSError, zlib.error):
        return None


@dataclass(frozen=True)
class TreeEntry:
    """One name in a tree."""

    mode: str  # six digits, as git prints it
    name: str  # the object's id

    @property
    def is_tree(self) -> bool:
        return self.mode == "040000"


Tree = dict[str, TreeEntry]
GITLINK = "160000"
"""The mode of a submodule in a tree."""


def parse_tree(data: bytes, length: int) -> Tree:
    """Parse a tree object into entries by name; `length` is the size of an object id in bytes."""
    found, position = {}, 0
    while position < len(data):
        end = data.index(b"\0", position)
        mode, _, name = data[position:end].partition(b" ")
        found[os.fsdecode(name)] = TreeEntry(mode.decode().zfill(6), data[end + 1 : end + 1 + length].hex())
        position = end + 1 + length
    return found


def tree_object(entries: Tree) -> bytes:
    """Serialize entries as git sorts them: a folder as if its name ended with a slash."""
    named = sorted((os.fsencode(name) + b"/" * entry.is_tree, name, entry) for name, entry in entries.items())
    return b"".join(
        entry.mode.lstrip("0").encode() + b" " + os.fsencode(name) + b"\0" + bytes.fromhex(entry.name)
        for _, name, entry in named
    )
