"""The table of languages, and the tests of a file in any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from posixpath import basename, splitext

from ralph.audit import js_tests, other_tests, python_tests
from ralph.audit.conventions import is_test_file
from ralph.audit.found import FoundTest
from ralph.audit.shell_marks import flow_marks
from ralph.audit.source import GO, JAVA, JAVASCRIPT, PYTHON, RUBY, RUST, SHELL, SourceText, Syntax, without_dead_blocks


@dataclass(frozen=True)
class Language:
    """A language in which the audit finds tests."""

    name: str
    suffixes: tuple[str, ...]
    syntax: Syntax
    find: Callable[[str, str], list[FoundTest]]
    anywhere: bool = False  # tests also stand beside the code that they test


LANGUAGES = (
    Language("python", (".py",), PYTHON, python_tests.find),
    Language("javascript", (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), JAVASCRIPT, js_tests.find),
    Language("go", (".go",), GO, other_tests.GO_TESTS.find),
    Language("rust", (".rs",), RUST, other_tests.RUST_TESTS.find, anywhere=True),
    Language("java", (".java", ".kt", ".groovy", ".scala", ".cs"), JAVA, other_tests.JAVA_TESTS.find),
    Language("php", (".php",), JAVA, other_tests.PHP_TESTS.find),
    Language("ruby", (".rb",), RUBY, other_tests.RUBY_TESTS.find),
    Language("shell", (".sh", ".bash", ".bats", ".t"), SHELL, other_tests.SHELL_TESTS.find),
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def language_of(path: str) -> Language | None:
    return _BY_SUFFIX.get(splitext(path)[1].lower())


def may_have_tests(path: str) -> bool:
    language = language_of(path)
    return is_test_file(path) or (language is not None and language.anywhere)


def tests_in(path: str, text: str) -> list[FoundTest]:
    """Return the tests of a file; a test file without any that the audit knows is one test itself."""
    language = language_of(path)
    if not text.strip() or not may_have_tests(path):
        return []
    found = language.find(path, text) if language else []
    if found or not is_test_file(path) or (language and language.name in ("python", "go", "rust", "java", "php")):
        return found
    return _whole(path, text, language)


def _whole(path: str, text: str, language: Language | None) -> list[FoundTest]:
    """A script that tests by itself."""
    source = without_dead_blocks(SourceText(text, language.syntax if language else SHELL))
    body, is_shell = tuple(source.statements(0, len(text))), not language or language.name == "shell"
    test = FoundTest(
        path=path,
        name=basename(path),
        line=1,
        head=(),
        body=body,
        language=language.name if language else "shell",
        marks=tuple(flow_marks(body, text)) if is_shell else (),
    )
    return [] if test.is_empty or not (is_shell or test.checks) else [test]
