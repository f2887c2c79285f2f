"""Corrects links, scripts and editable installs in a copied folder that contain its old path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

MAX_TEXT = 1 << 20
MAX_SHEBANG = 127
"""The number of bytes that every Linux kernel reads of a script's first line."""


@dataclass(frozen=True)
class Relocation:
    """A move from the person's checkout to a working copy, which may be below it."""

    source: Path
    top: Path

    def path(self, path: str) -> str:
        """Return an absolute path in the working copy; unchanged if it is not in the person's checkout."""
        for old in self._spellings:
            below = path.removeprefix(old)
            if below != path and below[:1] in ("", "/") and "/.ralph/" not in below:
                return f"{self.top}{below}"
        return path

    def text(self, data: bytes) -> bytes:
        """Replace every path of the person's checkout in a text; a URL stays a URL."""
        plain, quoted = os.fsencode(self.top), quote(str(self.top)).encode()
        return self._pattern.sub(lambda found: found[1] + quoted if found[1] else plain, data)

    def script(self, data: bytes) -> bytes:
        """Do the same for a script; if its first line becomes too long for the kernel, start it with `sh`."""
        new = self.text(data)
        first, _, rest = new.partition(b"\n")
        python = re.fullmatch(rb"#!(/.*/python[0-9.]*)", first)
        if new == data or not python or (len(first) < MAX_SHEBANG and b" " not in first):
            return new
        return b"#!/bin/sh\n'''exec' \"" + python[1] + b'" "$0" "$@"\n\' \'\'\'\n' + rest

    @cached_property
    def _spellings(self) -> tuple[str, ...]:
        return tuple(sorted({str(self.source), str(self.source.resolve())}, key=len, reverse=True))

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        """Matches a path or its beginning, but not the end of a longer path or a sibling with the same prefix."""
        names = {name for old in self._spellings for name in (old, quote(old))}
        old = b"|".join(re.escape(os.fsencode(name)) for name in sorted(names, key=len, reverse=True))
        own = rb"/(?:[^\s'\":]*/)?\.ralph/"
        return re.compile(rb"(?<![\w.\-])(file://)?(?:" + old + rb")(?![\w.\-%+@~\x80-\xff]|" + own + rb")")


def relocate(folder: Path, relocation: Relocation) -> None:
    """Correct everything below `folder`, a fresh copy that is not in use yet."""
    for entry, below in _walk(folder):
        path = Path(entry.path)
        if entry.is_symlink():
            redirect(path, relocation)
        elif embeds_path(below):
            rewrite(path, relocation)


def redirect(link: Path, relocation: Relocation) -> None:
    """Point an absolute link into the person's checkout at the working copy."""
    target = os.readlink(link)  # noqa: PTH115 - as it is written
    new = relocation.path(target)
    if new != target:
        link.unlink()
        link.symlink_to(new)


def rewrite(file: Path, relocation: Relocation) -> None:
    """Correct one text file and keep its mode."""
    data = _text_of(file)
    new = relocation.script(data) if data.startswith(b"#!") else relocation.text(data)
    if new == data:
        return
    mode = file.stat().st_mode
    file.unlink()  # another hard link to the file keeps its content
    file.write_bytes(new)
    file.chmod(mode & 0o7777)
    for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc") if file.suffix == ".py" else ():
        compiled.unlink()


def embeds_path(below: str) -> bool:
    """Return whether a file of a dependency folder may contain that folder's path, or that of an editable install."""
    folder, _, name = below.rpartition("/")
    if folder == "bin" or folder.endswith(".bin") or below == "pyvenv.cfg":
        return True
    if name.endswith((".pth", ".egg-link")) or name == "direct_url.json":
        return True
    return name.endswith(".py") and "editable" in name and folder.endswith("-packages")


def _text_of(file: Path) -> bytes:
    """Return a file's content; b"" if it is binary or too large to rewrite."""
    if file.stat().st_size > MAX_TEXT:
        return b""
    data = file.read_bytes()
    return b"" if b"\0" in data else data


def _walk(folder: Path) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield everything below a folder, with its relative path, except the folders themselves."""
    waiting = [(str(folder), "")]
    while waiting:
        current, below = waiting.pop()
        with os.scandir(current) as entries:
            for entry in list(entries):
                path = f"{below}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, f"{path}/"))
                else:
                    yield entry, path
