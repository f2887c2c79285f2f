"""What in a shell script keeps its checks from running, or from failing it.

A condition cannot be judged without running it, so an early end counts whatever it depends on. As with every mark, only
one that is new is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralph.audit.found import SkipMark
from ralph.audit.source import Statement

_COMMAND = r"(?:^|[;&|({]|\b(?:then|do|else)\b)\s*"
_ENDS = re.compile(rf"{_COMMAND}(?:(?:exit|return)(?:\s+0)?\s*(?:$|[;&|)}}])|exec\s+(?!\d*[<>&])\S)")
_NEVER = re.compile(r"^\s*(?:(?:if|while)\s+(?:false|!\s*(?:true|:))|until\s+(?:true|:)|:\s*<<|false\s*&&|true\s*\|\|)")
_TRAP = re.compile(r"^\s*trap\b.*\bexit(?:\s+0)?\s*[\"';]")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?(?P<name>[\w-]+)\s*\(\s*\)\s*(?:[{(]|$)")
_SURE = re.compile(r"\s*(?:true|:|exit(?:\s+0)?|(?:echo|printf)\b[^;&|$]*)\s*;?\s*$")
_CHECKS_NOTHING = re.compile(r"\s*(?:true|:|echo|printf|exit|return|else|fi|done|esac|set|cd|rm|[{}()\s]+$)(?![\w-])")
_FAILS = re.compile(r"\b(?:exit|return)\s+(?:[1-9]|\"?\$)|\bfail\w*\b")
_STOPS = re.compile(r"^\s*set\s+-(?:\w*e\w*\b|o\s+errexit)|^#!.*\s-\w*e")
_GOES_ON = re.compile(r"^\s*set\s+\+(?:\w*e\w*\b|o\s+errexit)")


def flow_marks(body: Sequence[Statement], text: str = "") -> Iterator[SkipMark]:
    """Return the marks of a script with this text, or of a function in one."""
    last = max((number for number, one in enumerate(body) if not _CHECKS_NOTHING.match(one.masked)), default=-1)
    for number, one in enumerate(body):
        is_end = _ENDS.search(one.masked) and number < last
        if is_end or _NEVER.match(one.masked) or _TRAP.match(one.code):
            yield SkipMark(one.line, " ".join(one.code.split()))
    if text:
        yield from _status_marks(body, text)
        yield from _unused(body)


def _status_marks(body: Sequence[Statement], text: str) -> Iterator[SkipMark]:
    """A script fails by its first failure (`set -e`), by a status that it gives itself, or by its last command."""
    stops = bool(_STOPS.match(text))
    for one in body:
        stops = bool(_STOPS.match(one.masked)) or (stops and not _GOES_ON.match(one.masked))
    if stops or not body:
        return
    yield SkipMark(1, "no `set -e`")
    if _SURE.fullmatch(body[-1].masked) and not any(_FAILS.search(one.code) for one in body):
        yield SkipMark(body[-1].line, f"a last command that never fails: {' '.join(body[-1].code.split())}")


def _unused(body: Sequence[Statement]) -> Iterator[SkipMark]:
    """Functions that are never called, except tests, which a runner calls."""
    for one in body:
        match = _FUNCTION.match(one.masked)
        name = match["name"] if match else "test"
        if match and not name.startswith(("test", "set", "tear", "oneTime")):
            uses = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            if sum(len(uses.findall(other.code)) for other in body) < 2:
                yield SkipMark(one.line, f"{name}() is never called")
