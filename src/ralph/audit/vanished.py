"""Says which tests are gone, and how."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ralph.audit.absorbed import Compared
from ralph.audit.collected import Collected
from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile
from ralph.audit.found import FoundTest
from ralph.audit.lines import line_behind, listed
from ralph.plan.evidence import Concern, ConcernKind

MOST_TOLD = 5  # of one file; more of them are one sentence


def vanished(compared: Compared, changes: Mapping[str, ChangedFile], collected: Collected) -> Iterator[Concern]:
    """Return a concern for each test that is gone, or one for a whole file."""
    by_path: dict[str, list[FoundTest]] = defaultdict(list)
    for test in compared.lost:
        by_path[test.path].append(test)
    kept = {pair.before.path for pair in compared.pairs}
    for path, tests in by_path.items():
        change = changes[path]
        if len(tests) > 1 and path not in kept and not any(test.path == path for test in compared.after):
            yield _whole_file(change, tests, _moved_to(change, changes, collected))
        else:
            found = [_one(test, change, _moved_to(change, changes, collected)) for test in tests]
            yield from found if len(found) <= MOST_TOLD else [_many(found, tests)]
    yield from _unreadable(changes.values(), by_path)


def _moved_to(change: ChangedFile, changes: Mapping[str, ChangedFile], collected: Collected) -> str:
    """Where a file of this name is now that no test runner collects; empty if there is none."""
    if change.after is not None:
        return ""
    same = (one for one in changes.values() if one.before is None and one.new and one.new == change.old)
    return next((one.path for one in same if not is_test_file(one.path) or not collected.includes(one.path)), "")


def _whole_file(change: ChangedFile, tests: list[FoundTest], moved: str) -> Concern:
    names = listed([test.name for test in tests])
    if moved:
        text = (
            f"the test file moved to `{moved}`, where the test runner does not look: {len(tests)} tests no longer run"
        )
    elif change.after is None:
        text = f"the test file is gone, and its {len(tests)} tests with it: {names}"
    elif not change.new.strip():
        text = f"the test file is empty now: its {len(tests)} tests are gone: {names}"
    else:
        text = f"the {len(tests)} tests of this file no longer run: {names}"
    return Concern(
        kind=ConcernKind.VANISHED, path=change.path, line=tests[0].line if change.after is None else 1, text=text
    )


def _many(found: list[Concern], tests: list[FoundTest]) -> Concern:
    names = listed([test.name for test in tests])
    return replace(found[0], text=f"{len(tests)} tests of this file are gone: {names}")


def _one(test: FoundTest, change: ChangedFile, moved: str) -> Concern:
    what, line = f"the test `{test.name}` is gone", test.line
    if moved:
        what = f"the test `{test.name}` moved to `{moved}`, where the test runner does not look"
    elif change.after is None:
        what = f"the test `{test.name}` is gone with its file"
    elif match := _named(test.short, change.new):
        line = change.new.count("\n", 0, match.start()) + 1
        what = f"the test `{test.name}` {_fate(match, test.short)}"
    else:
        line = line_behind(change.old, change.new, test.line)
    return Concern(kind=ConcernKind.VANISHED, path=change.path, line=line, text=what)


def _named(name: str, text: str) -> re.Match[str] | None:
    """Where the name still is in the new file."""
    return re.compile(rf"^(?P<before>[^\n]*?)(?P<name>\w*{re.escape(name)}\w*)", re.MULTILINE | re.IGNORECASE).search(
        text
    )


def _fate(match: re.Match[str], name: str) -> str:
    before, now = match["before"], match["name"]
    if re.match(r"\s*(?:#(?!\[)|//|/?\*|--|<!--)", before):
        return "is commented out"
    if now != name:
        return f"is now called `{now}`, which the test runner does not run"
    return "is still in the file, but checks nothing of what it checked, or is never run"


def _unreadable(changes: Iterable[ChangedFile], known: Mapping[str, object]) -> Iterator[Concern]:
    """Test files that are gone or replaced and could not be read."""
    for change in changes:
        if change.path in known or not is_test_file(change.path) or change.is_readable:
            continue
        if change.before is not None and change.after is None:
            yield Concern(kind=ConcernKind.VANISHED, path=change.path, text="the test file is gone")
        elif change.before is not None:
            text = "the test file changed, and is too large or not text: nothing in it could be compared"
            yield Concern(kind=ConcernKind.ASSERTIONS, path=change.path, text=text)
