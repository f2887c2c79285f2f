"""Says what outside of the tests' own functions makes them check less: modules that are mocked, and doctests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile
from ralph.audit.languages import language_of
from ralph.audit.lines import shown
from ralph.plan.evidence import Concern, ConcernKind

_MOCKED = re.compile(r"^(?:jest|vi)\.(?:mock|doMock)\(\s*([\"'`])(?P<module>\.[^\"'`\n]*)\1", re.MULTILINE)
_EXAMPLE = re.compile(r"^[ \t]*>>> (?P<code>[^\n]*)(?P<expected>(?:\n[ \t]*(?!>>>|\"\"\"|''')\S[^\n]*)*)", re.MULTILINE)
_DIRECTIVE = re.compile(r"\s*#\s*doctest:.*")


def beside_tests(changes: Iterable[ChangedFile]) -> Iterator[Concern]:
    """Return a concern for each example that says less, and for each module that tests no longer use themselves."""
    for change in changes:
        if not change.is_readable or change.before is None or change.after is None:
            continue
        language = language_of(change.path)
        if language and language.name == "javascript" and is_test_file(change.path):
            yield from _mocked(change)
        elif language and language.name == "python" and ">>>" in change.old:
            yield from _examples(change)


def _told(change: ChangedFile, offset: int | None, text: str) -> Concern:
    line = None if offset is None else change.new.count("\n", 0, offset) + 1
    return Concern(kind=ConcernKind.ASSERTIONS, path=change.path, line=line, text=text)


def _mocked(change: ChangedFile) -> Iterator[Concern]:
    before = {match["module"] for match in _MOCKED.finditer(change.old)}
    for match in _MOCKED.finditer(change.new):
        if match["module"] not in before:
            yield _told(
                change, match.start(), f"the tests of this file get a stand-in for `{shown(match['module'])}` now"
            )


def _examples(change: ChangedFile) -> Iterator[Concern]:
    now = {_plain(match["code"]): match for match in _EXAMPLE.finditer(change.new)}
    for match in _EXAMPLE.finditer(change.old):
        code = _plain(match["code"])
        after = now.get(code)
        if after is None:
            called = re.search(r"(\w+)\(", code)
            if called and re.search(rf"\b(?:def|class) {called[1]}\b", change.new):
                yield _told(change, None, f"the example `{shown(code)}` is gone")
        elif match["expected"].split() != after["expected"].split():
            yield _told(change, after.start(), f"the example `{shown(code)}` expects something else now")
        elif "SKIP" in after["code"] and "SKIP" not in match["code"]:
            yield _told(change, after.start(), f"the example `{shown(code)}` is skipped now")


def _plain(code: str) -> str:
    return _DIRECTIVE.sub("", code).strip()
