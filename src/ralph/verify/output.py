"""The useful part of a gate's output: the first error and the last lines, bounded, without colours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

from ralph.ansi import plain

COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
ERROR = re.compile(
    rb"\b(?:error|errors|failed|failure|fatal|panic|panicked|exception|traceback|undefined|cannot|not found)\b"
    rb"|\bassert|^E\s|^FAIL\b|\xe2\x9c\x97|\xe2\x9c\x96|\xc3\x97",
    re.IGNORECASE | re.MULTILINE,
)
LIKELY = re.compile(
    rb"error|fail|fatal|panic|exception|traceback|undefined|cannot|not found|assert|\ne\s|\xe2\x9c|\xc3\x97"
)
"""Found in lower case much faster than the expression above, which then looks at that line only."""

HARMLESS = re.compile(rb"\b(?:0 errors?|0 failed|no errors?)\b", re.IGNORECASE)
CHUNK = 1 << 20
WINDOW = 1 << 16
LONGEST_LINE = 400
BEFORE, HEAD_LINES, TAIL_LINES = 2, 25, 40
MOST = 4_000


def useful(log: Path) -> str:
    """What an agent or a person needs to see of a log of any size, at most about 4,000 characters."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        tail_at = max(size - WINDOW, 0)
        tail = _end(_joined(_read(file, tail_at, WINDOW, whole_lines=tail_at > 0)[-TAIL_LINES:]), MOST)
        found = _first_error(file)
        if found is None:
            return tail
        start = max(found - WINDOW // 8, 0)
        before = _read(file, start, found - start, whole_lines=start > 0)[-BEFORE:]
        head = [_clean(line) for line in before + _read(file, found, WINDOW)[: HEAD_LINES - len(before)]]
    if head[len(before)] in tail.split("\n"):
        return tail
    return _start("\n".join(head), MOST // 2) + "\n[…]\n" + _end(tail, MOST // 2)


def _first_error(file: BinaryIO) -> int | None:
    """Where the first line begins that speaks of an error; in a very long line, a little before the error."""
    file.seek(0)
    offset, held = 0, b""
    while chunk := file.read(CHUNK):
        data = held + chunk
        for match in LIKELY.finditer(data.lower()):
            begin = max(data.rfind(b"\n", 0, match.end() - 1), data.rfind(b"\r", 0, match.end() - 1)) + 1
            line = COLOURS.sub(b"", re.split(rb"[\r\n]", data[begin : match.end() + LONGEST_LINE], maxsplit=1)[0])
            if ERROR.search(line) and not HARMLESS.search(line):
                return offset + max(begin, match.start() - LONGEST_LINE // 2)
        keep = min(len(data) - (data.rfind(b"\n") + 1), WINDOW)
        offset, held = offset + len(data) - keep, data[len(data) - keep :]
    return None


def _read(file: BinaryIO, at: int, size: int, *, whole_lines: bool = False) -> list[bytes]:
    """The lines of a part of the file; `whole_lines`: without the first, which is cut."""
    file.seek(at)
    lines = file.read(size).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines[1:] if whole_lines and len(lines) > 1 else lines


def _joined(lines: list[bytes]) -> str:
    return "\n".join(_clean(line) for line in lines)


def _clean(line: bytes) -> str:
    shown = line.rstrip(b"\r").rpartition(b"\r")[2]  # of a progress line, what is left on the screen
    text = plain(shown[: LONGEST_LINE * 4].decode(errors="replace"))
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


def _start(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _end(text: str, size: int) -> str:
    return text if len(text) <= size else "…" + text[-size + 1 :]
