"""The dialect of any other command: all of its standard output is speech."""

from __future__ import annotations

from ralph.agent.dialects.base import Reader


class TextReader(Reader):
    def feed(self, data: bytes) -> None:
        self.speech.feed(data)
