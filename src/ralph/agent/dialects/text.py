"""The dialect of any other command: all of its standard output is the transcript."""

from __future__ import annotations

from ralph.agent.dialects.base import Reader


class TextReader(Reader):
    def feed(self, data: bytes) -> None:
        self.transcript.feed(data)
