"""Finds the tests in languages with braces, with `end`, and in shell scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import zip_longest

from ralph.audit.found import FoundTest, SkipMark
from ralph.audit.shell_marks import flow_marks
from ralph.audit.source import GO, JAVA, RUBY, RUST, SHELL, SourceText, Statement, Syntax, without_dead_blocks


def _early(body: tuple[Statement, ...]) -> Iterator[SkipMark]:
    first = next(iter(body), None)
    if first and re.match(
        r"\s*(?:return(?:\s+(?:Ok\(\(\)\)|0|true|nil|None))?|exit 0|next)\s*;?\s*(?:\}|$)", first.masked
    ):
        yield SkipMark(first.line, "return" if "return" in first.masked else first.masked.strip())


@dataclass(frozen=True)
class Finder:
    """How the tests of a language look."""

    language: str
    syntax: Syntax
    _: KW_ONLY
    test: re.Pattern[str]  # from its attributes to the brace that opens it; its name is the group `name` or `other`
    out: re.Pattern[str]  # what keeps a test from running: an attribute, or a call in its body
    needs: re.Pattern[str] | None = None  # the attribute without which it is no test
    file: re.Pattern[str] | None = None  # what keeps all tests of a file from running; matched with comments
    set_up: re.Pattern[str] | None = None  # a function that runs before each test: what it skips, all tests skip
    end: Callable[[SourceText, re.Match[str], int], int] | None = None  # where a test ends, if not at the closing brace
    early: Callable[[tuple[Statement, ...]], Iterator[SkipMark]] | None = None  # what ends it, if not a return at once

    def find(self, path: str, text: str) -> list[FoundTest]:
        source = without_dead_blocks(SourceText(text, self.syntax))
        everywhere = tuple(self._of_file(source))
        tests: dict[str, FoundTest] = {}
        matches = list(self.test.finditer(source.masked))
        for match, following in zip_longest(matches, matches[1:]):
            limit = following.start() if following else len(source.masked)  # tests do not stand in one another
            end = min(limit, self.end(source, match, limit) if self.end else source.closing(match.end() - 1))
            body = tuple(source.statements(match.end(), max(match.end(), end - 1)))
            head = tuple(source.statements(match.start(), match.end()))
            if self.needs and not any(self.needs.search(one.masked) for one in head):
                continue
            group = "name" if match["name"] else "other"
            name = " ".join(source.code[match.start(group) : match.end(group)].strip("\"'`").split())
            test = FoundTest(
                path=path,
                name=name,
                line=source.line(match.start(group)),
                head=head,
                body=_before_return(body),
                language=self.language,
                marks=(*everywhere, *self._marks(head), *self._marks(body), *(self.early or _early)(body)),
            )
            if not test.is_empty:
                tests[name if name not in tests else f"{name} ({test.line})"] = test
        return list(tests.values())

    def _of_file(self, source: SourceText) -> Iterator[SkipMark]:
        for match in self.file.finditer(source.text) if self.file else ():
            yield SkipMark(source.line(match.start()), " ".join(match.group().split()))
        for match in self.set_up.finditer(source.masked) if self.set_up else ():
            end = self.end(source, match, len(source.masked)) if self.end else source.closing(match.end() - 1)
            yield from self._marks(source.statements(match.end(), end))

    def _marks(self, statements: Iterable[Statement]) -> Iterator[SkipMark]:
        for statement in statements:
            for match in self.out.finditer(statement.masked):
                yield SkipMark(statement.line, " ".join(match.group().strip(" ({;").split()))


def _before_return(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Leave out what comes after a return at the level of the test itself; a return at once is a mark instead."""
    depth = 0
    for number, statement in enumerate(body):
        if number and depth == 0 and re.match(r"\s*(?:return|exit 0)\s*;?\s*$", statement.masked):
            return body[: number + 1]
        depth += statement.masked.count("{") - statement.masked.count("}")
    return body


def _at_indented_end(source: SourceText, match: re.Match[str], limit: int) -> int:
    """Ruby: the first `end` that is indented like the test."""
    indent = re.match(r"[ \t]*", match.group().lstrip("\n"))
    closing = re.compile(rf"^{indent.group() if indent else ''}end\b", re.MULTILINE).search(
        source.masked, match.end(), limit
    )
    return closing.start() if closing else limit


def _at_closing_brace(source: SourceText, match: re.Match[str], limit: int) -> int:
    """Shell: the first closing brace in the column of the test."""
    indent = re.match(r"[ \t]*", match.group().lstrip("\n"))
    closing = re.compile(rf"^{indent.group() if indent else ''}\}}", re.MULTILINE).search(
        source.masked, match.end(), limit
    )
    return closing.end() if closing else limit


_RUST_ATTRIBUTES = r"^[ \t]*+(?:#\[(?:[^\[\]]|\[[^\[\]]*+\])*+\]\s*+){1,20}+"
_JAVA_ATTRIBUTES = r"^[ \t]*+(?:(?:@\w[\w.]*+(?:\([^;()]*+\))?+|\[[^\]\n]*+\])\s*+){1,20}+"
GO_TESTS = Finder(
    "go",
    GO,
    test=re.compile(
        r"^func (?:\(\w+ \*?\w+\) )?(?P<name>(?:Test(?!Main\b)|Fuzz|Example)(?![a-z])\w*)\s*\([^)\n]*\)[^{\n]*\{",
        re.MULTILINE,
    ),
    out=re.compile(r"\b(?:t|b|tb|f)\.Skip(?:f|Now)?\s*\(|\bT\(\)\.Skip\w*\(|\btesting\.Short\s*\("),
    file=re.compile(r"^//(?:go:build|\s*\+build)[^\n]*|\bos\.Exit\(\s*0\s*\)", re.MULTILINE),
)
RUST_TESTS = Finder(
    "rust",
    RUST,
    test=re.compile(
        rf"{_RUST_ATTRIBUTES}[ \t]*(?:pub(?:\([^)\n]*\))?\s+)?(?:async\s+)?fn\s+(?P<name>\w+)[^{{;]*\{{", re.MULTILINE
    ),
    needs=re.compile(r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|case)\b"),
    out=re.compile(
        r"#\[\s*(?:ignore|should_panic)\b[^\]]*\]|#\[\s*cfg\s*\((?!\s*test\s*\))[^\]]*\]|#\[\s*cfg_attr\s*\([^\]]*ignore[^\]]*\]"
    ),
    file=re.compile(
        r"^#!\[cfg\((?!test\b)[^\n]*|^#\[cfg\((?:any\(\)|FALSE|not\(test\))[^\n]*"
        r"|^#\[cfg\((?!test\))[^\n]*\]\s*+(?=(?:pub\s+)?mod\s+\w*test)",
        re.MULTILINE,
    ),
)
JAVA_TESTS = Finder(
    "java",
    JAVA,
    test=re.compile(
        rf"{_JAVA_ATTRIBUTES}[ \t]*(?:[\w<>\[\],.?]++\s++){{1,8}}(?P<name>\w+|`[^`\n]*`)\s*\([^{{;]*?\)[^{{;()]*\{{",
        re.MULTILINE,
    ),
    needs=re.compile(
        r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b"
    ),
    out=re.compile(
        r"@(?:Disabled|Ignore|DisabledIf\w*|DisabledOn\w*|EnabledIf\w*)\b|\bassumeTrue\s*\(\s*false|\bassumeFalse\s*\(\s*true"
        r"|\bSkip\s*=\s*\"|\benabled\s*=\s*false|\bAssert\.(?:Ignore|Inconclusive)|\[Ignore\b"
    ),
    file=re.compile(r"^@(?:Disabled|Ignore)\b[^\n]*", re.MULTILINE),
)
PHP_TESTS = Finder(
    "php",
    JAVA,
    test=re.compile(r"^[ \t]*(?:final\s+)?(?:public\s+)?function\s+(?P<name>test\w+)\s*\([^{;]*\{", re.MULTILINE),
    out=re.compile(r"\bmarkTest(?:Skipped|Incomplete)\b"),
)
RUBY_TESTS = Finder(
    "ruby",
    RUBY,
    test=re.compile(
        r"^[ \t]*(?:[xf]?(?:it|specify|scenario|example)|test)\s*\(?\s*(?P<name>[\"'][^\"'\n]*[\"'])[^\n]*?\bdo\b"
        r"|^[ \t]*def (?P<other>test_\w+)",
        re.MULTILINE,
    ),
    out=re.compile(
        r"^[ \t]*[xf](?:it|specify|describe|context)\b|(?<![\w.:])(?:skip|pending)\b(?!:)|:(?:skip|focus|pending)\b"
        r"|\b(?:skip|focus|pending): "
    ),
    file=re.compile(r"^[ \t]*[xf](?:describe|context)\b[^\n]*", re.MULTILINE),
    end=_at_indented_end,
)
SHELL_TESTS = Finder(
    "shell",
    SHELL,
    test=re.compile(
        r"^[ \t]*(?:@test\s+(?P<name>\"[^\"\n]*\"|'[^'\n]*'|\w+)\s*\{|(?:function\s+)?(?P<other>test\w*)\s*\(\)\s*\{)",
        re.MULTILINE,
    ),
    out=re.compile(r"(?:^|[;&|]\s*)\s*(?:skip|startSkipping)\b"),
    set_up=re.compile(r"^(?:function\s+)?(?:setup\w*|setUp|oneTimeSetUp)\s*\(\)\s*\{", re.MULTILINE),
    end=_at_closing_brace,
    early=flow_marks,
)
