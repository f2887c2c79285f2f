"""Reads a difference as git prints it into files and lines, so that each line can be commented on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.frozen import Frozen

HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@(.*)")
MAX_LINES = 4_000
MAX_WIDTH = 1_000


class DiffLine(Frozen):
    """One line: `kind` is add, remove, same or hunk."""

    kind: str
    text: str
    old: int = 0
    new: int = 0

    @property
    def number(self) -> int:
        return self.new or self.old


class DiffFile(Frozen):
    """What one file's difference is."""

    path: str
    about: str  # new file, deleted file, binary; empty: changed
    lines: tuple[DiffLine, ...]

    @property
    def added(self) -> int:
        return sum(line.kind == "add" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "remove" for line in self.lines)


class Difference(Frozen):
    """A whole difference, or the beginning of a long one."""

    files: tuple[DiffFile, ...] = ()
    is_cut: bool = False


def parse(text: str) -> Difference:
    """Return the files of a difference; a very long one is cut."""
    lines = text.split("\n", MAX_LINES + 1)
    is_cut = len(lines) > MAX_LINES + 1
    sections: list[list[str]] = []
    for line in lines[:MAX_LINES]:
        if line.startswith("diff --git "):
            sections.append([])
        if sections:
            sections[-1].append(line)
    return Difference(files=tuple(_file(section) for section in sections), is_cut=is_cut)


def _file(section: list[str]) -> DiffFile:
    head_end = next((index for index, line in enumerate(section) if line.startswith("@@ ")), len(section))
    head = section[:head_end]
    return DiffFile(path=_path(head), about=_about(head), lines=tuple(_lines(section[head_end:])))


def _path(head: list[str]) -> str:
    for mark in ("+++ ", "--- "):
        name = next((line.removeprefix(mark) for line in head if line.startswith(mark)), "/dev/null").rstrip("\t")
        if name != "/dev/null":
            return name[2:] if name[:2] in ("a/", "b/") else name
    return head[0].removeprefix("diff --git ").rpartition(" b/")[2] if head else ""


def _about(head: list[str]) -> str:
    for line in head:
        if line.startswith("new file"):
            return "new file"
        if line.startswith("deleted file"):
            return "deleted"
        if line.startswith(("Binary files", "GIT binary patch")):
            return "binary"
    return ""


def _lines(section: list[str]) -> Iterator[DiffLine]:
    old = new = 0
    for line in section:
        if match := HUNK.match(line):
            old, new = int(match[1]), int(match[2])
            yield DiffLine(kind="hunk", text=match[3].strip())
        elif line.startswith("+"):
            yield DiffLine(kind="add", text=_cut(line), new=new)
            new += 1
        elif line.startswith("-"):
            yield DiffLine(kind="remove", text=_cut(line), old=old)
            old += 1
        elif line.startswith(" "):
            yield DiffLine(kind="same", text=_cut(line), old=old, new=new)
            old, new = old + 1, new + 1


def _cut(line: str) -> str:
    text = line[1:].rstrip("\r")
    return text if len(text) <= MAX_WIDTH else f"{text[:MAX_WIDTH]}…"
