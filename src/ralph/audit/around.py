"""Says what around the assertions of a test makes it check less: a condition, a stand-in, fewer examples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ralph.audit.checks import GO_FAILS, checks_in
from ralph.audit.found import FoundTest
from ralph.audit.lines import shown

_GUARD = re.compile(
    r"(?:\}\s*)?(?:(?:if|elif|else|while|except|catch|case|switch)\b|for\b[^\n]*\bin\s*(?:\[\s*\]|\(\s*\)|range\(0?\)))"
)
_OWN_TEXT = frozenset({"go", "shell"})  # languages in which an assertion is a condition itself
_STAND_IN = re.compile(
    r"@(?:mock\.)?patch\b|\b(?:mock\.)?patch(?:\.object|\.dict)?\s*\(|\bmonkeypatch\.set(?:attr|item)\s*\("
    r"|\b(?:jest|vi)\.(?:mock|doMock|spyOn)\s*\(|\bsinon\.(?:stub|replace)\s*\(|\bmock\.(?:module|method)\s*\("
)
_AGAIN = re.compile(
    r"@(?:pytest\.mark\.)?(?:flaky|retry)\b|\b(?:jest\.retryTimes|this\.retries)\s*\(|\bretr(?:y|ies)\s*:\s*[1-9]"
)
_EXAMPLES = re.compile(r"\b(?:max_examples|numRuns|QuickCheck\w*)\s*[=:]\s*(?P<number>\d+)")


def weaker_around(before: FoundTest, after: FoundTest) -> Iterator[tuple[int, str]]:
    """Return the line and the text of each difference between two versions of a test."""
    yield from _guarded(before, after)
    for pattern, said in (
        (_STAND_IN, "the test has something else in the place of what it tests, perhaps"),
        (_AGAIN, "the test may fail now, and is tried again"),
    ):
        known = Counter("".join(one.code.split()) for one in before.statements if pattern.search(one.masked))
        for one in after.statements:
            if pattern.search(one.masked):
                known["".join(one.code.split())] -= 1
                if known["".join(one.code.split())] < 0:
                    yield one.line, f"{said}: `{shown(one.code)}`"
    was, now = _examples(before), _examples(after)
    if was and now and now[0] < was[0]:
        yield now[1], f"the test has {now[0]} examples now, and had {was[0]}"
    if after.language == "go" and _failures(after) < _failures(before):
        own = (sum("require." in one.text or "assert." in one.text for one in test.checks) for test in (before, after))
        if next(own) >= next(own):
            yield after.line, "the test reports fewer failures: a `t.Error` or `t.Fatal` is gone"


def _examples(test: FoundTest) -> tuple[int, int] | None:
    found = ((one, match) for one in test.statements if (match := _EXAMPLES.search(one.masked)))
    return next(((int(match["number"]), one.line) for one, match in found), None)


def _failures(test: FoundTest) -> int:
    return sum(len(GO_FAILS.findall(one.masked)) for one in test.body)


def _guarded(before: FoundTest, after: FoundTest) -> Iterator[tuple[int, str]]:
    """Assertions that run only on a condition now."""
    if after.language in _OWN_TEXT:
        return
    free = {plain for plain, _, guard in _guards(before) if not guard}
    still = {plain for plain, _, guard in _guards(after) if not guard}
    for plain, line, guard in _guards(after):
        if guard and plain in free and plain not in still:
            yield line, f"an assertion runs only on a condition now: `{shown(guard)}`"


def _guards(test: FoundTest) -> Iterator[tuple[str, int, str]]:
    """Each assertion, and the innermost condition around it."""
    stack: list[tuple[int, str]] = []
    depth = 0
    for one in test.body:
        content = one.masked.strip()
        if test.language == "python":
            depth = len(one.masked.expandtabs()) - len(one.masked.expandtabs().lstrip())
        closed = int(content.startswith("}"))
        while stack and stack[-1][0] >= depth - closed:
            stack.pop()
        yield from (
            (check.plain, check.line, stack[-1][1] if stack else "") for check in checks_in((one,), test.language)
        )
        if _GUARD.match(content) and (content.endswith((":", "{"))):
            stack.append((depth - closed, " ".join(one.code.split())))
        if test.language != "python":
            depth += content.count("{") - content.count("}")
