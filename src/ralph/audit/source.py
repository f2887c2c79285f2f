"""Reads a source file without understanding it all: comments, strings, brackets and statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ralph.audit.lines import LineNumbers

OPENING, CLOSING = "([{", ")]}"
_DEAD = re.compile(r"\b(?:if|while)\s*\(?\s*(?:false|0|!true|!1)\s*\)?\s*\{")
_BRACKET = re.compile(r"[()\[\]{}\n]")


@dataclass(frozen=True)
class Syntax:
    """How comments and strings look, and which newlines do not end a statement."""

    pattern: re.Pattern[str]  # a comment is the group `comment`; every other match is a string
    joins: str = "(["  # a newline right inside these brackets does not end the statement
    chained: bool = False  # a line that starts with a dot continues the one before


def syntax(*, comment: str, string: str, joins: str = "([", chained: bool = False) -> Syntax:
    return Syntax(re.compile(f"(?P<comment>{comment})|{string}", re.DOTALL | re.MULTILINE), joins, chained)


_QUOTED = r""""(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?"""
_C = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
PYTHON = syntax(
    comment=r"\#[^\n]*",
    string=rf'"""(?:\\.|(?!""").)*+(?:"""|\Z)|' rf"'''(?:\\.|(?!''').)*+(?:'''|\Z)|{_QUOTED}",
    joins="([{",
)
JAVASCRIPT = syntax(
    comment=_C,
    string=rf"`(?:\\.|[^`\\])*+`?|{_QUOTED}"
    r"|(?:(?<=[(,=:\[!&|?])|(?<=[(,=:\[!&|?] ))/(?![*/])(?:\\.|\[[^\]\n]*+\]|[^/\\\n\[])++/",
    chained=True,
)
GO = syntax(comment=_C, string=rf"`[^`]*+`?|{_QUOTED}")
RUST = syntax(
    comment=_C,
    string=r"""r(?P<hashes>#*)".*?(?:"(?P=hashes)|\Z)|"(?:\\.|[^"\\])*+"?|'(?:\\.[^'\n]{0,8}|[^'\\\n])'""",
    chained=True,
)
JAVA = syntax(comment=_C, string=rf'""".*?(?:"""|\Z)|{_QUOTED}', chained=True)
RUBY = syntax(comment=r"\#(?!\{)[^\n]*|^=begin\b.*?(?:^=end\b|\Z)", string=_QUOTED, chained=True)
SHELL = syntax(
    comment=r"(?:(?<=\s)|^)\#[^\n]*",
    string=r"""<<-?\s*+(['"]?)(?P<end>\w+)\1[^\n]*\n.*?(?:^[\t ]*(?P=end)$|\Z)|"(?:\\.|[^"\\])*+"?|'[^']*+'?|\\.""",
    joins="",
)


@dataclass(frozen=True)
class Statement:
    """One statement: its line, its text without comments, and the same without the contents of strings."""

    line: int
    code: str
    masked: str


class SourceText:
    """A source file: `code` has no comments, `masked` no contents of strings either. Offsets are the same in all."""

    def __init__(self, text: str, how: Syntax) -> None:
        self.text = text
        self._how = how
        code: list[str] = []
        masked: list[str] = []
        at = 0
        for match in how.pattern.finditer(text):
            start, end = match.span()
            if start < at:
                continue
            between, found = text[at:start], match.group()
            blank = _blank(found)
            code += (between, blank if match["comment"] else found)
            masked += (between, blank if match["comment"] else _quotes_only(found))
            at = end
        self.code = "".join((*code, text[at:]))
        self.masked, self._closing = _join("".join((*masked, text[at:])), how)

    def line(self, offset: int) -> int:
        return self._numbers.at(offset)

    def closing(self, offset: int) -> int:
        """Return the offset behind the bracket that closes the one at `offset`; the end if nothing does."""
        return self._closing.get(offset, len(self.text))

    def statements(self, start: int, end: int) -> Iterator[Statement]:
        """Return the statements between two offsets, each on one line."""
        at = start
        for masked in self.masked[start:end].split("\n"):
            if masked.strip(" \t;"):
                first = at + len(masked) - len(masked.lstrip())
                yield Statement(self.line(first), self.code[at : at + len(masked)], masked)
            at += len(masked) + 1

    @cached_property
    def _numbers(self) -> LineNumbers:
        return LineNumbers(self.text)


def without_dead_blocks(source: SourceText) -> SourceText:
    """Blank the blocks that can never run, such as `if (false) { … }`."""
    at = 0
    ranges = []
    for match in _DEAD.finditer(source.masked):
        if match.start() >= at:
            at = source.closing(match.end() - 1) - 1
            ranges.append((match.end(), at))
    if ranges:
        source.masked, source.code = _blanked(source.masked, ranges), _blanked(source.code, ranges)
    return source


def _blanked(text: str, ranges: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in ranges:
        pieces += (text[at:start], _blank(text[start:end]))
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def has_any(text: str, words: tuple[str, ...]) -> bool:
    """Much faster than a pattern, for the many lines that have none of the words."""
    return any(word in text for word in words)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _quotes_only(text: str) -> str:
    """Blank what is inside a string, its newlines too, so that no line begins inside a string."""
    return text[0] + " " * (len(text) - 2) + text[-1] if len(text) > 1 else text


def _join(masked: str, how: Syntax) -> tuple[str, dict[int, int]]:
    """Blank the newlines that do not end a statement, and find the closing bracket of each bracket."""
    pieces: list[str] = []
    at = 0
    stack: list[int] = []
    closing: dict[int, int] = {}
    for match in _BRACKET.finditer(masked):
        sign, offset = match.group(), match.start()
        if sign in OPENING:
            stack.append(offset)
        elif sign in CLOSING:
            wanted = OPENING[CLOSING.index(sign)]
            if stack and masked[stack[-1]] == wanted:
                closing[stack.pop()] = offset + 1
        elif (stack and masked[stack[-1]] in how.joins) or masked[offset - 1 : offset] == "\\":
            pieces += (masked[at:offset], " ")
            at = offset + 1
    joined = "".join((*pieces, masked[at:]))
    if how.chained:
        joined = re.sub(r"\n(?=[ \t]*+\.\w)", " ", joined)
    return joined, closing
