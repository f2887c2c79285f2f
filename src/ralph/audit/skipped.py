"""Says which tests are still there and no longer run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from ralph.audit.absorbed import Compared
from ralph.audit.found import FoundTest, SkipMark
from ralph.audit.lines import listed, shown
from ralph.plan.evidence import Concern, ConcernKind

_ONLY = re.compile(r"\w\.only\b|\bwith only$|^f(?:it|describe|test|context|specify|suite)\b|:focus\b|\bfocus:")


def skipped(compared: Compared) -> Iterator[Concern]:
    """Return a concern for each new mark, with the tests that it concerns."""
    tests: dict[tuple[str, SkipMark], list[FoundTest]] = defaultdict(list)
    for pair in compared.pairs:
        before = Counter(mark.key for mark in pair.before.marks)
        for mark in pair.after.marks:
            before[mark.key] -= 1
            if before[mark.key] < 0:
                tests[pair.after.path, mark].append(pair.after)
    for test in compared.new:
        for mark in test.marks:
            if _ONLY.search(mark.key):
                tests[test.path, mark].append(test)
    for (path, mark), found in tests.items():
        yield Concern(kind=ConcernKind.SKIPPED, path=path, line=mark.line, text=_text(mark, found))


def _text(mark: SkipMark, tests: list[FoundTest]) -> str:
    names = [test.name for test in tests]
    who = f"the test `{shown(names[0])}`" if len(tests) == 1 else f"{len(tests)} tests"
    rest = "" if len(tests) == 1 else f" ({listed(names)})"
    if _ONLY.search(mark.key):
        return f"`{shown(mark.text)}` keeps every other test from running: only {listed(names)} runs"
    if tests[0].language == "shell" and not mark.text.startswith(("skip", "startSkipping")):
        return f"{who} no longer {'fails' if len(tests) == 1 else 'fail'} where it did{rest}: `{shown(mark.text)}`"
    if mark.text == "return":
        return f"{who} returns before it checks anything{rest}"
    if mark.text in ("yield", "async def"):
        return f"{who} {'is' if len(tests) == 1 else 'are'} started now and never finished{rest}: `{mark.text}`"
    if mark.text == "__init__":
        return f"the test class has an `__init__` now, so the test runner leaves out {listed(names)}"
    if "xfail" in mark.text or "expectedFailure" in mark.text or "fail" in mark.text.lower():
        return f"{who} may fail now{rest}: `{shown(mark.text)}`"
    return f"{who} {'is' if len(tests) == 1 else 'are'} skipped now{rest}: `{shown(mark.text)}`"
