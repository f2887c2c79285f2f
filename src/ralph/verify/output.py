"""Extracts the useful part of a gate's log: the first error and the last lines, bounded."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from ralph import safe_files
from ralph.text import OVERWRITTEN, plain
from ralph.verify import error_signs
from ralph.verify.error_signs import Sign

CHUNK = 1 << 20
WINDOW = 1 << 16
SEARCHED, NEAR_END = 12 << 20, 1 << 17
MAX_READ_FILES = 10_000
MAX_LINE = 400
BEFORE, HEAD_LINES, TAIL_LINES = 8, 30, 40
POINT_BEFORE, POINT_AFTER = 4, 6
MAX_CHARS, MAX_BEFORE, MAX_POINT = 4_000, 500, 400
GAP = "[…]"
WRITTEN_OVER = OVERWRITTEN.encode()


def useful(log: Path) -> str:
    """Return what an agent or a person needs to see of a log of any size, in about 4,000 characters."""
    try:
        file = safe_files.open_old(log)
    except OSError:
        return ""  # an agent or a gate removed or replaced it
    with file:
        size = file.seek(0, 2)
        end = _lines(file, max(size - WINDOW, 0), size, cut=size > WINDOW)
        found = _first_error(file, size)
        if found is None:
            return "\n".join(_last(end, TAIL_LINES, MAX_CHARS))
        after = _lines(file, found, found + WINDOW)
        before = _before(file, found, after[0])
    if found + WINDOW < size:
        return _excerpt(before, after, end)
    whole, tail = "\n".join(before + after), "\n".join(_last(end, TAIL_LINES, MAX_CHARS))
    if len(whole) > MAX_CHARS:
        return _excerpt(before, after, None)
    return whole if GAP in before or len(whole) > len(tail) else tail


def first_failing(output: str) -> str:
    """Return the line that first and most surely names the error, and the point where it occurred.

    Without such a line, return the last one: programs usually report a failure at their end.
    """
    lines = [line for line in output.split("\n") if line.strip(" -=_.") and line != GAP]
    found = [(error_signs.of(line.encode()) or 0, -number) for number, line in enumerate(lines)]
    if not found:
        return ""
    sign, at = max(found)
    if not sign:
        return in_brief(lines[-1], MAX_LINE // 2)
    first, *rest = lines[-at:]
    point = _point(rest)
    if point is None or not (error_signs.HEADING.match(first.encode()) or error_signs.TRACEBACK in first.encode()):
        return in_brief(first, MAX_LINE // 2)
    heading = "" if error_signs.TRACEBACK in first.encode() else f"{in_brief(first, MAX_LINE // 2)} · "
    return heading + in_brief(rest[point], MAX_LINE // 4)


def in_brief(line: str, size: int) -> str:
    """Collapse a line's whitespace and truncate it to this size."""
    text = " ".join(line.split())
    return text if len(text) <= size else f"{text[: size - 1]}…"


def _excerpt(before: list[str], after: list[str], end: list[str] | None) -> str:
    """Combine the first error with its context, the point if that comes later, and the end of the output."""
    room = MAX_CHARS // 2 - len("\n".join(before))
    head = _fitting(after[:HEAD_LINES], room)
    rest = after[len(head) :]
    tail = _last(rest if end is None else end, TAIL_LINES, MAX_CHARS // 2)
    left_out = rest[: -len(tail)] if end is None and tail else rest
    point = None if _point(head) is not None else _point(left_out)
    if point is not None:
        head = [*_fitting(head, room - 2 * MAX_POINT), GAP, *_last(left_out[:point], POINT_BEFORE, MAX_POINT)]
        head += _fitting(left_out[point : point + POINT_AFTER], MAX_POINT)
    return "\n".join([*before, *head, GAP, *tail] if left_out else before + head + tail)


def _point(lines: list[str]) -> int | None:
    """Return the line that names the actual error in a long traceback or test output."""
    return next((number for number, line in enumerate(lines) if error_signs.POINT.match(line.encode())), None)


def _first_error(file: BinaryIO, size: int) -> int | None:
    """Return the offset of the first line that most surely names an error.

    In a very long line, the offset is a little before the error. Of an enormous log, only the start and the end are
    searched, and only the first of many suspects.
    """
    first: dict[Sign, int] = {}
    searched = 0
    for begin, end in ((0, min(SEARCHED, size)), (size - SEARCHED, size), (size - NEAR_END, size)):
        searched = _search(file, max(begin, searched), end, first)
        if Sign.REPORTED in first:
            break
    return first[max(first)] if first else None


def _search(file: BinaryIO, begin: int, end: int, first: dict[Sign, int]) -> int:
    """Record the first line with each sign in a part of the file; return how far the search came."""
    checked = 0
    for offset, block in _blocks(file, begin, end):
        for at, line in _suspects(block):
            sign = error_signs.of(line)
            if sign and sign not in first:
                first[sign] = offset + at
            checked += 1
            if sign is Sign.REPORTED or checked == MAX_READ_FILES:
                return offset + at + len(line)
    return max(begin, end)


def _blocks(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield a part of the file in blocks of whole lines, unless they are too long."""
    file.seek(max(begin - 1, 0))
    offset, held = (begin - 1 + len(file.readline(WINDOW)) if begin else 0), b""
    file.seek(offset)
    while chunk := file.read(max(min(CHUNK, end - file.tell()), 0)):
        data = held + chunk
        cut = data.rfind(b"\n") + 1
        if len(data) - cut > WINDOW:
            cut = len(data) - MAX_LINE
        yield offset, data[:cut]
        offset, held = offset + cut, data[cut:]
    yield offset, held


def _suspects(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines, or parts of very long lines, that need a closer check, with their offsets."""
    seen = 0
    for at in error_signs.suspects(text):
        if at >= seen:
            begin = text.rfind(b"\n", max(at - MAX_LINE, 0), at) + 1 or max(at - MAX_LINE // 2, 0)
            seen = text.find(b"\n", at, at + MAX_LINE)
            seen = seen if seen >= 0 else at + MAX_LINE
            yield begin, text[begin:seen]


def _before(file: BinaryIO, found: int, error: str) -> list[str]:
    """Return the lines before the error; for an indented error, also its heading, such as a file name."""
    lines = _lines(file, max(found - WINDOW, 0), found, cut=found > WINDOW)
    near = _last(lines, BEFORE, MAX_BEFORE)
    heading = next((line for line in reversed(lines) if line and not line[0].isspace()), None)
    return [heading, GAP, *near] if heading and error[:1].isspace() and heading not in near else near


def _lines(file: BinaryIO, start: int, stop: int, *, cut: bool = False) -> list[str]:
    """Return the lines of a part of the file; `cut`: drop the first line, which is incomplete."""
    file.seek(start)
    lines = file.read(stop - start).split(b"\n")
    if not lines[-1]:
        lines.pop()
    shown = lines[1:] if cut and len(lines) > 1 else lines
    return [_clean(line) for line in shown if not line.endswith(WRITTEN_OVER)]


def _clean(line: bytes) -> str:
    text = plain(line[: MAX_LINE * 4].decode(errors="replace"))
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 1] + "…"


def _fitting(lines: list[str], size: int) -> list[str]:
    """Return as many of the first lines as fit, but at least one."""
    used = list(accumulate(len(line) + 1 for line in lines))
    return lines[: max(bisect(used, size), 1)]


def _last(lines: list[str], count: int, size: int) -> list[str]:
    return _fitting(lines[: -count - 1 : -1], size)[::-1]
