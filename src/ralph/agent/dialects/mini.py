"""mini-swe-agent's text: sections under headings, most of which show the prompt and what commands printed."""

from __future__ import annotations

import re

from ralph.agent.dialects.base import DialectReport
from ralph.agent.dialects.text import TextReader
from ralph.agent.transcript import Transcript

HEADING = re.compile(rb"(?:System|User|Tool|(Exit)|mini-swe-agent \(step (\d+), \$[\d.]+\)):\s*")
MAX_LINE = 1 << 16
MAX_LAST_WORDS = 1 << 20


class MiniReader(TextReader):
    """Speech is what is under the headings of its steps, and what its last command printed (`Exit:`).

    A command may print such headings too. So steps count only in their order, and `Exit:` only if no step follows.
    """

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._partial = b""
        self._step = 0
        self._speaks = True  # before the first heading, too: another version may have none
        self._last_words: bytes | None = None  # what follows an `Exit:`

    def feed(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            if not self._begins_section(line):
                self._pass_on(line + b"\n")
        if len(self._partial) > MAX_LINE:  # no heading is that long
            self._pass_on(self._partial)
            self._partial = b""

    def close(self) -> DialectReport:
        self._pass_on(self._partial)
        self.transcript.feed(self._last_words or b"")
        return super().close()

    def _begins_section(self, line: bytes) -> bool:
        heading = HEADING.fullmatch(line)
        if not heading:
            return False
        if heading[2]:
            if int(heading[2]) != self._step + 1:
                return False
            self._step, self._speaks, self._last_words = self._step + 1, True, None
        elif self._last_words is None:
            self._speaks, self._last_words = False, b"" if heading[1] else None
        return True

    def _pass_on(self, text: bytes) -> None:
        if self._last_words is not None:
            self._last_words = (self._last_words + text)[-MAX_LAST_WORDS:]
        elif self._speaks:
            self.transcript.feed(text)
