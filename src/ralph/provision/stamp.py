"""Records what Ralph has put into a working copy, beside it, so that the next check is cheap."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ralph.stores import atomic

STAMP, MANIFEST = "stamp.json", "manifest.json"
ManifestEntry = tuple[int, int, int, int, int, str]
"""Mode, size, mtime, ctime, inode, and a digest or ""; for a folder, only the mode."""

Manifest = dict[str, ManifestEntry]
"""Everything at and below a path, by relative name; the path itself has the name ""."""


class Method(Enum):
    """How something came into a working copy."""

    COPIED = "copied"
    LINKED = "linked"
    MADE = "made"  # by a command
    LEFT = "left out"  # too large: something else must create it
    TRACKED = "tracked"  # the commit contains it


OURS = frozenset((Method.COPIED, Method.LINKED, Method.MADE))


class ProvidedPath(BaseModel):
    """One path that Ralph put into a working copy."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    how: Method
    state: str  # its state in the person's checkout
    mark: str  # its state in the copy
    when: int = 0  # nanoseconds: distinguishes a repeated put from the first


class Stamp(BaseModel):
    """Everything about one working copy."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    places: tuple[str, str] = ("", "")
    found: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    seen: str = ""
    items: dict[str, ProvidedPath] = {}
    set_up_at: int = 0  # nanoseconds: when the set-up last ran
    setup: tuple[str, ...] = ()  # digests of the lock files and commands before and after it ran
    made: tuple[str, ...] = ()  # by the set-up


_written: dict[Path, bytes] = {}
"""Digests of what this process wrote: agents can reach the notes beside a copy, so changed ones are ignored."""


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    if path in _written and hashlib.sha256(data).digest() != _written[path]:
        raise FileNotFoundError(path)
    return data


def _write(path: Path, data: bytes) -> None:
    _written[path] = hashlib.sha256(data).digest()
    atomic.write(path, data, sync=False)


def read(records: Path, places: tuple[str, str]) -> Stamp:
    """Read the stamp of a copy; return an empty one if none can be read for these places."""
    try:
        stamp = Stamp.model_validate_json(_read(records / STAMP))
    except (OSError, ValidationError):
        return Stamp(places=places)
    return stamp if stamp.places == places else Stamp(places=places)


def write(records: Path, stamp: Stamp) -> None:
    """Replace the stamp of a copy."""
    _write(records / STAMP, stamp.model_dump_json().encode())


def read_manifests(records: Path) -> dict[str, Manifest]:
    """Read the manifests of a copy, by provided path; return none if they cannot be read."""
    try:
        raw = json.loads(_read(records / MANIFEST))
    except (OSError, ValueError):
        return {}
    return {path: {name: tuple(entry) for name, entry in entries.items()} for path, entries in raw.items()}


def write_manifests(records: Path, manifests: Mapping[str, Manifest]) -> None:
    """Replace the manifests of a copy."""
    _write(records / MANIFEST, json.dumps(manifests, separators=(",", ":")).encode())


def mark(path: Path) -> str:
    """Return a mark of what is at a path, without reading folders; "" if there is nothing."""
    try:
        status = path.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return f"link {path.readlink()}"
    return f"folder {status.st_ino}" if stat.S_ISDIR(status.st_mode) else f"file {entry(status)}"


def manifest(top: Path) -> Manifest:
    """List everything at and below a path in one walk."""
    try:
        status = top.lstat()
    except OSError:
        return {}
    found = {"": entry(status)}
    waiting = [(str(top), "")] if stat.S_ISDIR(status.st_mode) else []
    while waiting:
        folder, below = waiting.pop()
        for item in _scan(folder):
            name = f"{below}{item.name}"
            status = item.stat(follow_symlinks=False)
            found[name] = entry(status)
            if stat.S_ISDIR(status.st_mode):
                waiting.append((item.path, f"{name}/"))
    return found


def sealed(top: Path, known: Manifest) -> Manifest:
    """Return a manifest with a digest of each file that has several hard links.

    uv and pnpm install by hard links, so installing the same file elsewhere changes its ctime here. Files that match
    `known` are not read.
    """
    return {name: _sealed(top / name, now, known.get(name)) for name, now in manifest(top).items()}


def is_same(one: ManifestEntry, other: ManifestEntry) -> bool:
    """Return whether a file is unchanged; if the ctime differs, only an equal digest proves it."""
    return one == other or (one[5] != "" and (*one[:3], *one[4:]) == (*other[:3], *other[4:]))


def entry(status: os.stat_result) -> ManifestEntry:
    if stat.S_ISDIR(status.st_mode):
        return (status.st_mode, 0, 0, 0, 0, "")
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, "")


def _sealed(path: Path, now: ManifestEntry, known: ManifestEntry | None) -> ManifestEntry:
    if known and known[:5] == now[:5]:
        return known
    if not stat.S_ISREG(now[0]) or not ((known and known[5]) or path.lstat().st_nlink > 1):
        return now
    return (*now[:5], _digest(path))


def _digest(path: Path) -> str:
    def opened(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

    try:
        with open(path, "rb", opener=opened) as file:  # a link or a pipe may have replaced it
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        os.chmod(folder, 0o700)  # noqa: PTH101 - its mode was noted already, and differs
        with os.scandir(folder) as entries:
            return list(entries)
