"""Finds the tests in a Python file, line by line: a version of Python that Ralph does not know is no obstacle."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ralph.audit.found import FoundTest, SkipMark
from ralph.audit.source import PYTHON, SourceText, Statement, has_any

_LINE = re.compile(
    r"(?P<decorator>@)"
    r"|class\s+(?P<class>\w+)\s*(?P<bases>\([^\n]*\))?\s*:"
    r"|(?:async\s+)?def\s+(?P<def>\w+)"
    r"|(?:if|while|elif)\s+\(?\s*(?P<dead>False|0|None|not True|TYPE_CHECKING)\s*\)?\s*:"
    r"|(?P<condition>(?:if|while|elif)\b[^\n]*:\s*$)"
)
_SIGNATURE = re.compile(r"(?:async\s+)?def\s+\w+\s*(?:\[[^\]]*\])?\s*\([^\n]*?\)\s*(?:->[^:\n]+)?:")
_SUITE = re.compile(r"Test|Case|Suite|Spec")
_SKIP = re.compile(
    r"\b(?:skip\w*|xfail|expectedFailure|importorskip|SkipTest)\b"
    r"|\bparametrize\s*\(\s*(?:[\"'][^\"']*[\"']|\([^()]*\)|\[[^\[\]]*\])\s*,\s*(?:\[\s*\]|\(\s*\))\s*[,)]"
)
_ALIAS = re.compile(
    r"(?P<name>\w+)\s*(?::[^=\n]+)?=\s*[^\n]*\b(?:mark|unittest)\s*\.\s*(?:skip\w*|xfail|expectedFailure)\b"
)
_SET_UP = re.compile(r"(?:async)?(?:setUp|setup)(?:Class|Module|TestData|_\w+)?$", re.IGNORECASE)
_LEAVES = re.compile(r"\bos\._exit\b|\bsys\.exit\s*\(\s*0?\s*\)|\braise\s+SystemExit\s*(?:\(\s*0?\s*\)|$)")
_DONE_HERE = re.compile(
    r"\b(?:pytest\s*\.\s*(?:skip|xfail|importorskip|exit)|self\.skipTest)\s*\("
    r"|^(?:skip|xfail)\s*\(|(?<![\w.])importorskip\s*\("
    r"|\braise\s+(?:\w+\.)*(?:SkipTest|Skipped)\b|\bos\._exit\s*\(|(?<![\w.])assume\s*\(\s*False\b"
)
_SKIP_SIGNS = ("skip", "Skip", "xfail", "exit", "assume")
_UNCOLLECTED = re.compile(r"__test__\s*=\s*False|pytestmark\s*[:=+]")
_ERASED = re.compile(
    r"(?:del\s+(?P<deleted>[\w, ]+)|(?P<set>test\w*)\s*=|(?P<marked>test\w*|Test\w*)\.__test__\s*=\s*False)"
)


@dataclass
class _Block:
    """A class, a function, a condition or dead code, while its lines are read."""

    indent: int
    kind: str  # class, test, function, condition, dead
    name: str = ""
    is_collected: bool = True
    marks: list[SkipMark] = field(default_factory=list)
    line: int = 0
    head: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    body_indent: int = -1
    has_returned: bool = False
    inner: int = -1  # how far a function in this test is indented, while its lines are read
    is_plain: bool = False  # a class of unittest, which does not wait for `async def`


def find(path: str, text: str) -> list[FoundTest]:
    """Return the tests that a runner would collect, with what keeps them from running."""
    return _PythonReader(path, SourceText(text, PYTHON)).read()


class _PythonReader:
    """Reads one file."""

    def __init__(self, path: str, source: SourceText) -> None:
        self.path = path
        self.source = source
        self.stack: list[_Block] = []
        self.decorators: list[Statement] = []
        self.marks: list[SkipMark] = []  # of the whole file
        self.found: list[tuple[_Block, tuple[_Block, ...]]] = []
        self.erased: set[str] = set()
        self.aliases: set[str] = set()  # names of the file's own for a decorator that skips
        self.helpers: dict[str, SkipMark] = {}  # functions that skip the test that uses them, such as fixtures

    def read(self) -> list[FoundTest]:
        for statement in self.source.statements(0, len(self.source.text)):
            self._take(statement)
        tests: dict[str, FoundTest] = {}
        for block, around in self.found:
            test = self._test(block, around)
            if block.name not in self.erased and not test.is_empty:
                tests.pop(test.name, None)
                tests[test.name] = test
            else:
                tests.pop(test.name, None)  # a later definition hides an earlier one
        return list(tests.values())

    def _test(self, block: _Block, around: tuple[_Block, ...]) -> FoundTest:
        classes = [one for one in around if one.kind == "class"]
        outer = [one for one in around if one.kind in ("class", "condition")]
        helped = self._helped(block) if self.helpers else ()
        return FoundTest(
            path=self.path,
            name=" › ".join(one.name for one in (*classes, block)),
            line=block.line,
            head=tuple(block.head),
            body=tuple(block.body),
            language="python",
            marks=(*self.marks, *(mark for one in (*outer, block) for mark in one.marks), *helped),
        )

    def _helped(self, block: _Block) -> list[SkipMark]:
        words = {word for one in (*block.head, *block.body) for word in re.findall(r"\w+", one.code)}
        return [mark for name, mark in self.helpers.items() if name in words]

    def _take(self, statement: Statement) -> None:
        content = statement.masked.lstrip()
        indent = len(statement.masked.expandtabs()) - len(content.expandtabs())
        while self.stack and indent <= self.stack[-1].indent:
            self.stack.pop()
        match = _LINE.match(content)
        if match and match["decorator"]:
            self.decorators.append(statement)
            return
        decorators, self.decorators = self.decorators, []
        inside = self.stack[-1] if self.stack else None
        test = next((block for block in self.stack if block.kind == "test"), None)
        if match and match["dead"]:
            self.stack.append(_Block(indent, "dead"))
        elif inside and inside.kind == "dead":
            self.stack.append(_Block(indent, "dead")) if match else None
        elif test:
            self._in_test(test, statement, content, indent)
        elif match and match["condition"]:
            self.stack.append(_Block(indent, "condition", content, marks=[_mark(statement)]))
        elif match and match["class"]:
            self._open_class(match, decorators, indent)
        elif match and match["def"]:
            self._open_function(match["def"], decorators, statement, indent)
        elif function := next((block for block in reversed(self.stack) if block.kind == "function"), None):
            self._in_function(function, statement, content)
        else:
            self._outside(statement, content)

    def _in_function(self, function: _Block, statement: Statement, content: str) -> None:
        """A function that is no test and skips: every test that it prepares, or that names it, is skipped with it."""
        if not (has_any(content, _SKIP_SIGNS) and _DONE_HERE.search(content)):
            return
        is_autouse = any("autouse" in one.masked for one in function.head)
        if _SET_UP.match(function.name) or is_autouse:
            self._around().append(_mark(statement))
        elif not function.name.startswith("pytest_"):
            self.helpers.setdefault(function.name, _mark(statement))

    def _around(self) -> list[SkipMark]:
        """The marks of the class that is being read, or of the file."""
        return next((block.marks for block in reversed(self.stack) if block.kind == "class"), self.marks)

    def _skips(self, decorator: Statement) -> bool:
        return bool(_SKIP.search(decorator.masked)) or not self.aliases.isdisjoint(re.findall(r"\w+", decorator.masked))

    def _open_class(self, match: re.Match[str], decorators: list[Statement], indent: int) -> None:
        name, bases = match["class"], match["bases"] or ""
        is_collected = name.startswith("Test") or bool(_SUITE.search(bases))
        marks = [_mark(one) for one in decorators if self._skips(one)]
        is_plain = bool(re.search(r"[(,.\s]TestCase\b", bases)) and "django" not in self.source.text
        self.stack.append(_Block(indent, "class", name, is_collected, marks, is_plain=is_plain))

    def _open_function(self, name: str, decorators: list[Statement], statement: Statement, indent: int) -> None:
        classes = [block for block in self.stack if block.kind == "class"]
        is_function = any(block.kind == "function" for block in self.stack)
        if name == "__init__" and classes and classes[-1].name.startswith("Test"):
            classes[-1].marks.append(SkipMark(statement.line, "__init__"))
        if not name.startswith("test") or is_function or not all(one.is_collected for one in classes):
            self.stack.append(_Block(indent, "function", name, head=decorators))
            return
        block = _Block(indent, "test", name, line=statement.line)
        block.head = [*decorators, statement]
        block.marks = [_mark(one) for one in decorators if self._skips(one)]
        if classes and classes[-1].is_plain and statement.masked.lstrip().startswith("async"):
            block.marks.append(SkipMark(statement.line, "async def"))
        if match := _SIGNATURE.match(statement.masked.lstrip()):
            start = len(statement.masked) - len(statement.masked.lstrip()) + match.end()
            if statement.masked[start:].strip():
                rest = Statement(statement.line, statement.code[start:], statement.masked[start:])
                block.head[-1] = Statement(statement.line, statement.code[:start], statement.masked[:start])
                self._in_test(block, rest, rest.masked.strip(), indent + 1)
        self.found.append((block, tuple(self.stack)))
        self.stack.append(block)

    def _in_test(self, test: _Block, statement: Statement, content: str, indent: int) -> None:
        if test.body_indent < 0:
            test.body_indent = indent
        if test.has_returned:
            return
        if indent == test.body_indent and re.match(r"return\b", content):
            if not any(re.search(r"\w", one.masked) for one in test.body):
                test.marks.append(SkipMark(statement.line, "return"))
            else:
                test.has_returned = True
        if indent <= test.inner:
            test.inner = -1
        if has_any(content, _SKIP_SIGNS) and (match := _DONE_HERE.search(content)):
            test.marks.append(SkipMark(statement.line, _called(match.group())))
        elif test.inner < 0 and re.match(r"yield\b", content):
            test.marks.append(SkipMark(statement.line, "yield"))
        if test.inner < 0 and re.match(r"(?:async\s+)?def\b", content):
            test.inner = indent
        test.body.append(statement)

    def _outside(self, statement: Statement, content: str) -> None:
        """A statement of the file or of a class, not of a function."""
        marks = self._around()
        if match := _ALIAS.match(content):
            self.aliases.add(match["name"])
        is_main = any(block.kind == "condition" and "__name__" in block.name for block in self.stack)
        if (_UNCOLLECTED.match(content) and (_SKIP.search(content) or "__test__" in content)) or _DONE_HERE.search(
            content
        ):
            marks.append(_mark(statement))
        elif _LEAVES.search(content) and not is_main:
            self.marks.append(_mark(statement))
        if match := _ERASED.match(content):
            self.erased.update(re.findall(r"\w+", match["deleted"] or match["set"] or match["marked"] or ""))


def _mark(statement: Statement) -> SkipMark:
    return SkipMark(statement.line, " ".join(statement.code.split()))


def _called(text: str) -> str:
    return " ".join(text.rstrip("( ").split())
