"""Parses JSON Lines from an agent in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

MAX_LINE_BYTES = 8 << 20
BEGINNING = 1_000
DECODER = json.JSONDecoder()


class JsonLines:
    """Splits a byte stream into JSON objects; skips lines that are not objects or are too long."""

    def __init__(self, lost: Callable[[bytes], None] | None = None) -> None:
        self._lost = lost  # gets the beginning of a line that is too long
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[dict[str, object]]:
        first, newline, rest = data.partition(b"\n")
        self._keep(first)
        if not newline:
            return
        *lines, last = rest.split(b"\n")
        for line in (self._whole(), *lines):
            found = _object(line)
            if found is not None:
                yield found
        self._keep(last)

    def close(self) -> Iterator[dict[str, object]]:
        found = _object(self._whole())
        if found is not None:
            yield found

    def _keep(self, piece: bytes) -> None:
        before, self._size = self._size, self._size + len(piece)
        if self._size <= MAX_LINE_BYTES:
            self._pieces.append(piece)
        elif before <= MAX_LINE_BYTES:
            if self._lost:
                self._lost(b"".join((*self._pieces, piece[:BEGINNING]))[:BEGINNING])
            self._pieces = []

    def _whole(self) -> bytes:
        line = b"".join(self._pieces) if self._size <= MAX_LINE_BYTES else b""
        self._pieces, self._size = [], 0
        return line


def _object(line: bytes) -> dict[str, object] | None:
    line = line.strip()
    if not line.startswith(b"{"):
        return None
    text = line.decode(errors="replace")  # half a character in a long output must not lose the whole event
    try:
        found, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if end == len(text) and isinstance(found, dict) else None
