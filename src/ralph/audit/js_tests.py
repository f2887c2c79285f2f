"""Finds the tests in JavaScript and TypeScript files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ralph.audit.found import FoundTest, SkipMark
from ralph.audit.source import JAVASCRIPT, SourceText, Statement, has_any, without_dead_blocks

MAX_NESTED = 20
_CALL = re.compile(
    r"(?<![\w.$])(?P<word>[xf]?(?:it|test|specify)|[xf]?(?:describe|context|suite))"
    r"(?P<chain>(?:\s*\.\s*\w+(?:\s*\([^()\n]*\)(?=\s*\())?)*)\s*(?P<open>[(`])"
)
_SUITES = frozenset({"describe", "context", "suite"})
_OUT = frozenset({"skip", "skipIf", "todo", "fixme", "failing", "fails", "runIf"})
_OPTION = re.compile(r"\s*,\s*\{[^{}]*\b(?P<option>skip|only|todo)\s*:\s*(?!false\b)")
_BODY_SKIP = re.compile(r"(?<![\w.$])(?:this|ctx|t|test|it|context)\.(?:skip|todo|fixme)\s*\(|^\s*pending\s*\(")
_CALLED_INSIDE = re.compile(
    r"\b(?:step|beforeEach|afterEach|beforeAll|afterAll|use|extend|info|setTimeout|slow|configure|mock)\b"
)
_RETURNS = re.compile(r"(?:.*(?:=>|\))\s*\{)?\s*return\s*(?:;|$|(?:true|undefined|null)\b)")
_SKIP_SIGNS = ("skip", "todo", "fixme", "pending")
_NAME = re.compile(r"""\s*(["'`])((?:\\.|(?!\1)[^\\])*+)\1""", re.DOTALL)


@dataclass(frozen=True)
class _Suite:
    start: int
    end: int
    name: str
    marks: tuple[SkipMark, ...]


def find(path: str, text: str) -> list[FoundTest]:
    """Return the tests that do something, with what keeps them from running."""
    source = without_dead_blocks(SourceText(text, JAVASCRIPT))
    suites: list[_Suite] = []
    tests: list[FoundTest] = []
    in_test = 0  # the offset at which the last test ends
    for match in _CALL.finditer(source.masked):
        chain = re.findall(r"\w+", match["chain"])
        if match.start() < in_test or _CALLED_INSIDE.search(match["chain"]):
            continue
        opening = _arguments(source, match, chain)
        end = source.closing(opening)
        name, after_name = _name(source, opening, end)
        suites = [suite for suite in suites if match.start() < suite.end][-MAX_NESTED:]
        marks = tuple(_marks(source, match, chain, after_name))
        if match["word"].lstrip("xf") in _SUITES or "describe" in chain:
            suites.append(_Suite(match.start(), end, name, marks))
            continue
        in_test = end
        body = tuple(source.statements(after_name, max(after_name, end - 1)))
        tests.append(
            FoundTest(
                path=path,
                name=" › ".join((*(suite.name for suite in suites), name)),
                line=source.line(match.start()),
                head=tuple(source.statements(match.start(), after_name)),
                body=body,
                language="javascript",
                marks=(*(mark for suite in suites for mark in suite.marks), *marks, *_marks_inside(body)),
            )
        )
    return [test for test in tests if not test.is_empty]


def _marks(source: SourceText, match: re.Match[str], chain: list[str], after_name: int) -> Iterator[SkipMark]:
    line, word = source.line(match.start()), match["word"]
    said = ".".join((word, *chain))
    if (word[0] in "xf" and word not in _SUITES) or _OUT.intersection(chain) or "only" in chain:
        yield SkipMark(line, said)
    elif option := _OPTION.match(source.masked, after_name, after_name + 200):
        yield SkipMark(line, f"{word} with {option['option']}")


def _marks_inside(body: tuple[Statement, ...]) -> Iterator[SkipMark]:
    first = True
    for statement in body:
        if has_any(statement.masked, _SKIP_SIGNS) and (match := _BODY_SKIP.search(statement.masked)):
            yield SkipMark(statement.line, match.group().rstrip("( "))
        elif first and _RETURNS.match(statement.masked):
            yield SkipMark(statement.line, "return")
        first = first and not re.search(r"\w", statement.masked[_end_of_head(statement.masked) :])


def _end_of_head(masked: str) -> int:
    """Where the function of a test begins, if it begins on this line."""
    return max(masked.rfind("{") + 1, masked.rfind("=>") + 1)


def _arguments(source: SourceText, match: re.Match[str], chain: list[str]) -> int:
    """The offset of the bracket around a test's name and function; `each` has its table first."""
    opening = match.end("open") - 1
    if chain and chain[-1] in ("each", "for"):
        behind = _end_of_template(source, opening) if match["open"] == "`" else source.closing(opening)
        following = re.compile(r"\s*\(").match(source.masked, behind)
        return following.end() - 1 if following else opening
    return opening


def _end_of_template(source: SourceText, opening: int) -> int:
    closing = source.masked.find("`", opening + 1)
    return closing + 1 if closing >= 0 else len(source.masked)


def _name(source: SourceText, opening: int, end: int) -> tuple[str, int]:
    if match := _NAME.match(source.code, opening + 1, end):
        return " ".join(match[2].split()), match.end()
    comma = source.masked.find(",", opening, end)
    stop = comma if comma >= 0 else opening + 1
    return " ".join(source.code[opening + 1 : stop].split())[:80] or "a test without a name", stop
