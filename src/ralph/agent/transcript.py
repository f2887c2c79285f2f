"""An agent's transcript and the markers in it: whole lines of its own text, not of anything it quotes."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from ralph.patterns import lazy
from ralph.text import strip_ansi

MAX_LINE = 1 << 16
TAIL = 4_000
MAX_MARKERS = 500
NEAR_END = 4_096
PAUSE = 0.2  # the minimum seconds between two lines for a watcher

FENCE = lazy(r" {0,3}(`{3,}|~{3,})(.*)")
MARKER = lazy(r" {0,3}<ralph>([A-Z]+)(?::(.*))?</ralph>\s*")
TASK_MARKER = lazy(r" {0,3}<TASK_(DONE|BLOCKED)(.*)>\s*")
REASON = lazy(r"\s+reason\s*=(.*)")
"""The spelling of the specs workflow; a reason may contain anything, including quotes."""
MARKS = ("**", "`")
MAX_MARKS = 4
KINDS = frozenset({"DONE", "BLOCKED", "DISPUTE", "LEARNING", "VERIFIED", "RESET", "REASON"})
SINGLE = frozenset({"DONE", "VERIFIED"})  # without text
OPTIONAL = frozenset({"BLOCKED"})  # with or without text


@dataclass(frozen=True)
class Marker:
    """`<ralph>KIND:text</ralph>`, `<TASK_DONE>` or `<TASK_BLOCKED reason="text">` on its own line."""

    kind: str
    text: str = ""


class Transcript:
    """Parses the agent's transcript as it arrives, in pieces of any size and in constant memory.

    A marker counts if it is a whole line, is not inside a quoted block, and does not echo the prompt. A fenced block
    that contains only markers is not a quotation.
    """

    def __init__(
        self,
        prompt: str = "",
        watcher: Callable[[str], None] | None = None,
        listener: Callable[[bytes], None] | None = None,
    ) -> None:
        self.markers: list[Marker] = []
        self._echoes = _marker_lines_with_context(prompt)
        self._watcher = watcher  # gets a line now and then
        self._listener = listener  # gets everything, in whole lines
        self._notified = 0.0
        self._partial = b""
        self._skipping = False
        self._tail = b""
        self._previous = ""
        self._fence = ""  # the fence that opened a quoted block
        self._quotation = False
        self._pending: list[Marker] = []

    def feed(self, data: bytes) -> None:
        if self._skipping:
            newline = data.find(b"\n")
            if newline < 0:
                return
            self._skipping, data = False, data[newline + 1 :]
        cut = data.rfind(b"\n") + 1
        block = b"".join((self._partial, memoryview(data)[:cut])) if cut else b""  # one copy
        self._partial = data[cut:] if cut else self._partial + data
        if len(self._partial) > MAX_LINE:
            self._partial, self._skipping = b"", True
            self._quotation = True
        if block:
            self._take(block)

    def close(self) -> None:
        """End the transcript: an unterminated line counts as a line, and an unclosed fence is ignored."""
        if self._partial:
            self._take(self._partial + b"\n")
            self._partial = b""
        if self._fence:
            self._accept(self._pending)
            self._pending = []

    @property
    def tail(self) -> str:
        """The last words, for a person and for notes."""
        return _text(self._tail).strip()

    def texts(self, kind: str) -> tuple[str, ...]:
        return tuple(marker.text for marker in self.markers if marker.kind == kind)

    def says(self, kind: str) -> bool:
        return any(marker.kind == kind for marker in self.markers)

    def _take(self, block: bytes) -> None:
        if self._listener:
            self._listener(block)
        self._tail = block[-TAIL:] if len(block) >= TAIL else (self._tail + block)[-TAIL:]
        if _is_of_interest(block):
            for line in block.split(b"\n")[:-1]:
                self._line(_text(line))
        elif self._echoes or self._fence:
            last = _last_line(block)
            self._quotation = self._quotation or bool(last)
            self._previous = last or self._previous
        self._tell(block)

    def _line(self, line: str) -> None:
        fence = FENCE.fullmatch(line)
        if fence and self._opens_or_closes(fence):
            return
        marker = _marker(line) if len(line) <= MAX_LINE else None
        words = line.strip()
        if marker and (self._previous, _bare(words)) not in self._echoes:
            if self._fence:
                self._pending.append(marker)
            else:
                self._accept([marker])
        elif words:
            self._quotation = True
        self._previous = words or self._previous

    def _opens_or_closes(self, fence: re.Match[str]) -> bool:
        """Open or close a block; it closes with the same kind of fence, at least as long and without text after it."""
        marks, rest = fence[1], fence[2].strip()
        if self._fence:
            if marks[0] != self._fence[0] or len(marks) < len(self._fence) or rest:
                return False
            if not self._quotation:
                self._accept(self._pending)
            self._fence = ""
        elif marks[0] == "`" and "`" in rest:
            return False
        else:
            self._fence = marks
        self._quotation, self._pending = False, []
        return True

    def _accept(self, markers: list[Marker]) -> None:
        """Keep markers up to a limit, and always the first of each kind."""
        for marker in markers:
            if len(self.markers) < MAX_MARKERS or not self.says(marker.kind):
                self.markers.append(marker)

    def _tell(self, block: bytes) -> None:
        if self._watcher and time.monotonic() - self._notified >= PAUSE:
            line = _last_line(block)
            if line:
                self._notified = time.monotonic()
                self._watcher(line)


def _text(line: bytes) -> str:
    return strip_ansi(line.decode(errors="replace")).replace("\r", "").replace("\0", "")


def _bare(line: str) -> str:
    """Return a line without bold or code marks around all of it, which models like to put around a marker."""
    indent = len(line) - len(line.lstrip(" "))
    text = line.strip()
    for _ in range(MAX_MARKS):
        mark = next((mark for mark in MARKS if text.startswith(mark) and text.endswith(mark)), "")
        inner = text[len(mark) : len(text) - len(mark)]
        if not mark or not inner.startswith((*MARKS, "<")):
            break
        text = inner
    return " " * indent + text


def _marker(line: str) -> Marker | None:
    if line.lstrip(" ").startswith(MARKS):
        line = _bare(line)
    match = MARKER.fullmatch(line)
    if not match:
        return _task_marker(line)
    if match[1] not in KINDS:
        return None
    kind, text = match[1], (match[2] or "").strip()
    if (kind in SINGLE and match[2] is not None) or (kind not in SINGLE | OPTIONAL and not text):
        return None
    return Marker(kind, text)


def _task_marker(line: str) -> Marker | None:
    match = TASK_MARKER.fullmatch(line)
    if not match:
        return None
    kind, inside = match[1], match[2].rstrip().removesuffix("/").rstrip()
    if not inside:
        return Marker(kind)
    given = REASON.fullmatch(inside)
    if kind != "BLOCKED" or not given:
        return None
    reason = given[1].strip()
    quoted = len(reason) > 1 and reason[0] == reason[-1] and reason[0] in "\"'"
    return Marker(kind, html.unescape(reason[1:-1] if quoted else reason).strip())


def _is_of_interest(block: bytes) -> bool:
    """Return whether the block may contain a marker or a fence; searching for one byte first is much faster."""
    return any(word[:1] in block and word in block for word in (b"<ralph>", b"<TASK_", b"```", b"~~~"))


def _last_line(block: bytes) -> str:
    """Return the last visible line."""
    rest = block[-NEAR_END:].rstrip()
    if len(block) > NEAR_END and b"\n" not in rest:
        rest = block.rstrip()
    while rest:
        cut = rest.rfind(b"\n") + 1
        words = _text(rest[cut:]).strip()
        if words:
            return words
        rest = rest[:cut].rstrip()
    return ""


def _marker_lines_with_context(prompt: str) -> frozenset[tuple[str, str]]:
    """Return each whole-line marker of a prompt with the line before it; output that repeats both is an echo."""
    found = set()
    previous = ""
    for line in prompt.splitlines():
        if _marker(line):
            found.add((previous, _bare(line.strip())))
        if not FENCE.match(line):
            previous = line.strip() or previous
    return frozenset(found)
