"""The useful part of a gate's output: the first error and the last lines, bounded, without colours."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
ERROR = re.compile(
    r"\b(error|errors|failed|failure|fatal|panic|panicked|exception|traceback|undefined|cannot|not found)\b"
    r"|\bassert|^E\s|^FAIL\b|✗|✖|×",
    re.IGNORECASE,
)
HARMLESS = re.compile(r"\b(0 errors?|0 failed|no errors?)\b", re.IGNORECASE)
CHUNK = 1 << 16
LONGEST_LINE = 400
HEAD_LINES = 25
TAIL_LINES = 40
MOST = 4_000


def useful(log: Path) -> str:
    """What an agent or a person needs to see of a log, at most about 4,000 characters."""
    head: list[str] = []
    found_at = -1
    last: deque[str] = deque(maxlen=TAIL_LINES)
    total = 0
    for line in _lines(log):
        if found_at < 0 and ERROR.search(line) and not HARMLESS.search(line):
            found_at = total
            head = list(last)[-2:]
        if found_at >= 0 and len(head) < HEAD_LINES:
            head.append(line)
        last.append(line)
        total += 1
    if found_at < 0 or found_at >= total - TAIL_LINES:
        return _end("\n".join(last), MOST)
    return _start("\n".join(head), MOST // 2) + "\n[…]\n" + _end("\n".join(last), MOST // 2)


def _lines(log: Path) -> Iterator[str]:
    """Lines without colours, each cut to a sensible length, from a file of any size and any line length."""
    held = b""
    with log.open("rb") as file:
        while chunk := file.read(CHUNK):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield _clean(line)
            held = held[: LONGEST_LINE * 4]
    if held:
        yield _clean(held)


def _clean(line: bytes) -> str:
    text = ANSI.sub("", line[: LONGEST_LINE * 4].decode(errors="replace"))
    text = text.rstrip("\r").rpartition("\r")[2]  # a progress line: what is left on the screen
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


def _start(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _end(text: str, size: int) -> str:
    return text if len(text) <= size else "…" + text[-size + 1 :]
