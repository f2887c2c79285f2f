"""Finds the tests in JavaScript and TypeScript files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ralph.audit.found import FoundTest, SkipMark
from ralph.audit.source import JAVASCRIPT, SourceText, Statement, has_any, without_dead_blocks

MAX_NESTED = 20
MAX_SCOPES = 500  # hooks and conditions of a file
MAX_HOOK = 2_000  # characters; a hook that skips is short
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
_RETURNS = re.compile(r"\s*return\s*(?:;|$|(?:true|undefined|null)\b)")
_SKIP_SIGNS = ("skip", "todo", "fixme", "pending", "exit")
_HOOK = re.compile(r"(?<![\w.$])before(?:Each|All)?\s*\(")
_CONDITION = re.compile(r"(?<![\w.$])if\s*\(")
_EVERYWHERE = re.compile(
    r"\bprocess\.exit\s*\(\s*0?\s*\)|\bprocess\.exitCode\s*=\s*0\b"
    r"|^[ \t]*(?:const|let|var)\s+(?:it|test|describe|expect)\s*=\s*"
    r"(?:(?:async\s*)?(?:function\b|\([^()\n]*\)\s*=>|\w+\s*=>)|new\s+Proxy\b)[^\n]*"
    r"|^[ \t]*(?:async\s+)?function\s+(?:it|test|describe|expect)\s*\(",
    re.MULTILINE,
)
"""What ends the program, or takes the place of the test runner's own functions."""
_NO_CASES = re.compile(r"\.\s*(?:each|for)\s*\(\s*\[\s*\]\s*\)")
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
    all_suites: list[_Suite] = []
    tests: list[tuple[int, FoundTest]] = []
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
            all_suites.append(suites[-1])
            continue
        in_test = end
        body = tuple(source.statements(after_name, max(after_name, end - 1)))
        test = FoundTest(
            path=path,
            name=" › ".join((*(suite.name for suite in suites), name)),
            line=source.line(match.start()),
            head=tuple(source.statements(match.start(), after_name)),
            body=body,
            language="javascript",
            marks=(*(mark for suite in suites for mark in suite.marks), *marks, *_marks_inside(body)),
        )
        tests.append((match.start(), test))
    scopes = list(_scopes(source, all_suites))
    return [_within(scopes, at, test) for at, test in tests if not test.is_empty]


def _scopes(source: SourceText, suites: list[_Suite]) -> Iterator[_Suite]:
    """Marks that stand outside of tests, and the part of the file for which each one counts."""
    file = _Suite(0, len(source.masked), "", ())
    for match in islice(_EVERYWHERE.finditer(source.masked), MAX_SCOPES):
        yield replace(file, marks=(SkipMark(source.line(match.start()), " ".join(match.group().split())),))
    for match in islice(_HOOK.finditer(source.masked), MAX_SCOPES):
        hook = source.masked[match.start() : min(source.closing(match.end() - 1), match.end() + MAX_HOOK)]
        if found := _BODY_SKIP.search(hook):
            around = [suite for suite in suites if suite.start < match.start() < suite.end]
            mark = SkipMark(source.line(match.start() + found.start()), found.group().rstrip("( "))
            yield replace(around[-1] if around else file, marks=(mark,))
    for match in islice(_CONDITION.finditer(source.masked), MAX_SCOPES):
        behind = source.closing(match.end() - 1)
        if opening := re.compile(r"\s*\{").match(source.masked, behind):
            text = " ".join(source.code[match.start() : behind].split())
            mark = SkipMark(source.line(match.start()), text)
            yield _Suite(match.start(), source.closing(opening.end() - 1), "", (mark,))


def _within(scopes: list[_Suite], at: int, test: FoundTest) -> FoundTest:
    marks = [mark for scope in scopes if scope.start <= at < scope.end for mark in scope.marks]
    return replace(test, marks=(*marks, *test.marks)) if marks else test


def _marks(source: SourceText, match: re.Match[str], chain: list[str], after_name: int) -> Iterator[SkipMark]:
    line, word = source.line(match.start()), match["word"]
    said = ".".join((word, *chain))
    if (word[0] in "xf" and word not in _SUITES) or _OUT.intersection(chain) or "only" in chain:
        yield SkipMark(line, said)
    elif _NO_CASES.search(match["chain"]) or (
        "each" in chain and _NO_CASES.match(f".each({source.masked[match.end('open') :][:20]}")
    ):
        yield SkipMark(line, f"{said} without a case")
    elif option := _OPTION.match(source.masked, after_name, after_name + 200):
        yield SkipMark(line, f"{word} with {option['option']}")


def _marks_inside(body: tuple[Statement, ...]) -> Iterator[SkipMark]:
    first = True
    for number, statement in enumerate(body):
        head = 0 if number else _end_of_head(statement.masked)
        if has_any(statement.masked, _SKIP_SIGNS) and (match := _BODY_SKIP.search(statement.masked)):
            yield SkipMark(statement.line, match.group().rstrip("( "))
        elif first and _RETURNS.match(statement.masked, head):
            yield SkipMark(statement.line, "return")
        first = first and not re.search(r"\w", statement.masked[head:])


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
