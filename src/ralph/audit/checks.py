"""Finds what a test checks, and how strictly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ralph.audit.source import Statement, has_any
from ralph.audit.tokens import tokens_of

LONG = 2_000  # characters of an assertion; what is behind them is data
NOTHING, TRUTHY, PARTIAL, EXACT = range(4)
"""How much an assertion says: always true, true for many values, true for some, true for one."""

_ASSERTION = re.compile(
    r"(?<![\w.])assert\b(?!\w*\s*=)"
    r"|\b(?:self|t|tc|this|tester|a)\.assert\w*\s*\("
    r"|\.assert_\w+\s*\(|\bassert_\w+!?[\s(]|\bassert\w*!?\s*\(|\bassert\.\w+|\bassertThat\b"
    r"|\bexpect\w*\s*[({]|\.(?:should|must)(?:_\w+)?\b|\brefute\w*\b|\bprop_assert\w*!"
    r"|\bpytest\.(?:raises|warns|fail)\s*\(|\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\("
    r"|\brequire\.\w+\s*\(|#\[should_panic|\b(?:chai|should|sinon\.assert)\.\w+|\bverify\s*\("
    r"|\bpanic!\s*\(|\bt\.(?:is|deepEqual|true|truthy|like|throws\w*)\s*\("
)
_SHELL_ASSERTION = re.compile(
    r"(?:^\s*(?:run\s+)?|[;&|!]\s*)(?:\[\[?\s|test\s|diff\s|cmp\s|assert\w*\b|fail\b|is\b|like\b|ok\b|refute\w*\b|test_(?:cmp|must_fail|i18ncmp|line_count|grep)\b)"
    r"|\bgrep\s+-\w*q|\|\|\s*(?:exit|fail|die|return)\b"
)
_CASES = re.compile(
    r"parametrize\s*\("
    r"|\.each\s*[(\x60]|#\[case\b|test_case\s*\(|@(?:CsvSource|ValueSource|MethodSource)\b|\.for\s*\("
)
_MESSAGE = re.compile(r"(?<=^assert )(?P<check>.*\S)\s*,\s*[frb]{0,2}([\"'])(?:(?!\2).)*\2$")
_SAME_SIDES = re.compile(
    r"^assert(?P<a>.+)===?(?P=a)(?:$|,)|\b(?:assert\w*!?|equal|strictEqual|deepEqual|is|Equal)\((?P<b>[^,]+(?:\([^()]*\))?),(?P=b)[,)]"
    r"|\bexpect\((?P<c>.+)\)\.to(?:Be|Equal|StrictEqual|\.equal|\.eql?)\((?P=c)\)"
)
_GO_CHECK = re.compile(r"^\s*(?:\}\s*else\s+)?(?:if|case)\s.*(?:[!=]=|[<>]|!\w)")
GO_FAILS = re.compile(r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\(")
_GO_ROW = re.compile(r"\s*\{.*\},\s*$")
_SIGN_WORDS = "assert expect should must refute raises warns fail Error Fatal Fail require chai panic verify t. sinon"
_SIGNS = tuple(_SIGN_WORDS.split())
_TABLES = ("parametrize", "each", "case", "Source", ".for")
_ALWAYS = re.compile(
    r"\bassert\s*\(?\s*(?:True|1|not False|\"\s*\"|'\s*')\s*\)?\s*(?:,.*)?$|\bor\s+True\b|\|\|\s*true\b|\bor\s+1\b"
    r"|assertTrue\s*\(\s*[tT]rue\b|expect\s*\(\s*true\s*\)|assert!?\s*\(\s*true\b|assert\.ok\s*\(\s*true"
    r"|expect\s*\(\s*1\s*\)\s*\.\s*toBe\s*\(\s*1|assert\.True\s*\(\s*t\s*,\s*true\b|\|\|\s*:\s*$"
    r"|&&\s*false\b|^\s*assert\s*\((?:[^()]|\([^()]*\))*,(?:[^()]|\([^()]*\))*\)\s*$"
)
_ANYTHING = re.compile(r"\b(?:mock\.)?ANY\b|expect\.anything\s*\(|expect\.any\s*\(")
_ANY_ERROR = re.compile(r"raises\w*\s*\([^)]*\b(?:Base)?Exception\b|assertRaises\w*\s*\([^)]*\b(?:Base)?Exception\b")
_TRUTHY = re.compile(
    r"toBeTruthy|toBeDefined|not\s*\.\s*toBe(?:Null|Undefined|Falsy)|not\s*\.\s*toThrow|assertTrue"
    r"|assertIsNotNone|assertNotNull|is not None"
    r"|\.ok\b|not_to be_nil|be_truthy|be_present|expect\.anything"
    r"|assertThat\([^)]*\)\.isNotNull|NotNil|\bNoError\b|is_ok\(\)|is_some\(\)"
    r"|toHaveBeenCalled\s*\(\s*\)|assert_called\s*\(|mock\.ANY|\bANY\b|is_some|should\.exist|to\.exist"
    r"|isinstance\s*\("
)
_PARTIAL = re.compile(
    r"[^<>=!-][<>]=?[^<>=]|!=|!==|\bnot in\b|\bin\b|\.startswith|\.endswith|toContain|toMatch|toBeGreater"
    r"|toBeLess|objectContaining"
    r"|toHaveProperty|toBeInstanceOf|not\s*\.\s*to"
    r"|assert(?:In|NotIn|Not|Greater|Less|Is|Almost|Regex|Contains)|approx|toBeCloseTo|Contains|Greater|Less|NotEqual"
    r"|grep|refute|is not\b|include|assert_ne!|matches!|stringContaining|raises\s*\(\s*Exception\s*\)"
)
_EXACT = re.compile(
    r"==|===|assert(?:List|Dict|Tuple|Set|Sequence|Count|Items)?Equals?\b|toBe\s*\(|toEqual|toStrictEqual"
    r"|assert_eq|[eE]qual|\.eq\(|\beq\b|toHaveLength|toHaveBeenCalled(?:With|Times)|isEqualTo|raises"
    r"|toThrow|cmp|diff|-eq| = |deepEqual|\.is\("
)


@dataclass(frozen=True)
class Assertion:
    """One assertion, or one row of a table of cases."""

    line: int
    text: str  # with single blanks
    masked: str  # without the contents of strings
    is_case: bool = False

    @cached_property
    def strength(self) -> int:
        return EXACT if self.is_case else strength_of(self.masked)

    @cached_property
    def plain(self) -> str:
        """Equal for two assertions that differ in format only."""
        return re.sub(r"[\s;]+|,(?=[)\]}])", "", self.text)

    @property
    def repeats_itself(self) -> bool:
        """Whether it compares something with the same thing."""
        return len(self.plain) < LONG and bool(_SAME_SIDES.search(self.plain))

    @cached_property
    def tokens(self) -> Counter[str]:
        return tokens_of(_MESSAGE.sub(r"\g<check>", self.text) if len(self.text) < LONG else self.text)


def checks_in(statements: Iterable[Statement], language: str) -> Iterator[Assertion]:
    """Return the assertions and the rows of tables of cases in a test."""
    is_shell = language == "shell"
    for statement in statements:
        masked = statement.masked
        if language == "go" and _GO_CHECK.match(masked):
            yield Assertion(statement.line, " ".join(statement.code.rstrip(" {").split()), masked)
        elif _SHELL_ASSERTION.search(masked) if is_shell else has_any(masked, _SIGNS) and _ASSERTION.search(masked):
            yield Assertion(statement.line, " ".join(statement.code.split()), masked)
        if has_any(masked, _TABLES) and _CASES.search(masked):
            yield from _rows(statement)
        elif language == "go" and _GO_ROW.match(masked):
            yield Assertion(statement.line, " ".join(statement.code.split()).rstrip(","), masked, is_case=True)


def strength_of(masked: str) -> int:
    masked = masked[:LONG]
    if _ALWAYS.search(masked):
        return NOTHING
    if _ANYTHING.search(masked):
        return TRUTHY
    if _ANY_ERROR.search(masked):
        return PARTIAL
    if _EXACT.search(masked) and not re.search(r"assertTrue|\bor\b|\|\|(?!\s*(?:exit|fail|die|return))", masked):
        return PARTIAL if re.search(r"approx|toBeCloseTo|not\s*\.\s*to", masked) else EXACT
    if _TRUTHY.search(masked):
        return TRUTHY
    if _PARTIAL.search(masked):
        return PARTIAL
    return TRUTHY if re.match(r"\s*assert\s+[\w.()\[\]]+\s*(?:,|$)", masked) else PARTIAL


def _rows(statement: Statement) -> Iterator[Assertion]:
    """The elements of the first list in a statement that has values."""
    start = re.search(r"[\[(]\s*[\[({\"'\d]", statement.masked)
    match = re.search(r"(?:parametrize|each|for)\b", statement.masked)
    at = statement.masked.find("[", match.end() if match else 0)
    if at < 0 or not start:
        return
    for row in _elements(statement, at + 1):
        text = " ".join(row.split())
        if any(token.startswith("'") for token in tokens_of(text)):
            yield Assertion(statement.line, text, text, is_case=True)


def _elements(statement: Statement, at: int) -> Iterator[str]:
    depth, begun = 0, at
    for match in re.finditer(r"[()\[\]{},]", statement.masked[at:]):
        sign, offset = match.group(), at + match.start()
        if sign in "([{":
            depth += 1
        elif sign == "," and depth == 0:
            yield statement.code[begun:offset]
            begun = offset + 1
        elif sign != ",":
            depth -= 1
            if depth < 0:
                yield statement.code[begun:offset]
                return
