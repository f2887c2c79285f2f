"""Finds the test that a name in a report means. Each runner spells names in its own way.

pytest says `test_total[1]` of `tests.test_shop.TestCart`, vitest `cart > is empty` of `src/cart.test.ts`, jest only
`cart is empty`, go `TestTotal/one` of `example.com/shop`. The test's own name is at the end, perhaps before its case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from posixpath import basename, splitext

from ralph.audit.found import FoundTest

_CASE = re.compile(r"(?<=\w)(?:[\[({/].*| with data set .*)$", re.DOTALL)
_HOLE = re.compile(r"\\?%[sdifjoOp#]|\\?\$\\?\{[^}]*\}|\\?\$\w[\w.]*|\\?#\\?\{[^}]*\}")
_START = re.compile(r"(?<![\w.])(?=\S)|(?<=[.:#/])(?=\w)")
_PART = re.compile(r"[./\\:]+")
_ANY = frozenset({"test", "tests", "spec", "index", "main"})  # a part of a name that says nothing by itself
MAX_STARTS = 40


def without_case(name: str) -> str:
    """Return a name without the parameters of its case: all cases of a test are one test."""
    head, mark, own = name.rpartition(" › ")
    return head + mark + _CASE.sub("", own)


class FilesByName:
    """Files, by how a report may name them: a path, or a module with dots."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        self._by_last: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
        for path in self.paths:
            parts = _PART.split(splitext(path)[0])
            self._by_last[parts[-1]].append((path, parts))

    def named_in(self, name: str) -> set[str]:
        """Return the files that a name of a report can mean; none if it names no file."""
        said = _PART.split(name.rpartition(" › ")[0])
        found: dict[str, int] = {}
        for at, part in enumerate(said):
            for path, parts in self._by_last.get(part, ()):
                common = _common(said[: at + 1], parts)
                if common > 1 or part not in _ANY:
                    found[path] = max(found.get(path, 0), common)
        most = max(found.values(), default=0)
        return {path for path, common in found.items() if common == most}


def _common(said: list[str], parts: list[str]) -> int:
    """How many parts two names have in common, from their ends."""
    count = 0
    for one, other in zip(reversed(said), reversed(parts), strict=False):
        if one != other:
            break
        count += 1
    return count


class TestsByName:
    """Tests, by the names that reports may have for them."""

    __test__ = False  # pytest must not take it for a test

    def __init__(self, tests: Iterable[FoundTest], files: FilesByName) -> None:
        self._files = files
        self._by_short: dict[str, list[FoundTest]] = defaultdict(list)
        self._templates: list[tuple[re.Pattern[str], FoundTest]] = []
        for test in tests:
            if _HOLE.search(test.short):
                self._templates.append((_pattern(test.short), test))
            else:
                for name in _names_of(test):
                    self._by_short[name].append(test)

    def behind(self, name: str) -> list[FoundTest]:
        """Return the tests that a name can mean: of the files that it names, and of the longest name of its own."""
        files = self._files.named_in(name)
        for own in _own_names(name.rpartition(" › ")[2]):
            tests = [test for test in self._by_short.get(own, ()) if not files or test.path in files]
            if tests:
                return [test for test in tests if _is_inside(test, name)] or tests
        return [test for pattern, test in self._templates if pattern.search(name) and (not files or test.path in files)]


def _names_of(test: FoundTest) -> set[str]:
    """A script that is a test itself is called by its file, perhaps without the ending."""
    return {test.short, splitext(test.short)[0] if test.short == basename(test.path) else test.short}


def _own_names(name: str) -> Iterator[str]:
    """What the test's own name can be: every end of the whole, the longest first."""
    for match in list(_START.finditer(name))[:MAX_STARTS]:
        rest = name[match.start() :]
        yield rest
        if (own := _CASE.sub("", rest)) != rest:
            yield own


def _is_inside(test: FoundTest, name: str) -> bool:
    """Whether a name also names the class or the blocks around a test."""
    return all(part in name for part in test.name.split(" › ")[:-1])


def _pattern(short: str) -> re.Pattern[str]:
    """A pattern for the name of a test that has values of its cases in it."""
    return re.compile(".*".join(map(re.escape, _HOLE.split(short))) + "$", re.DOTALL)
