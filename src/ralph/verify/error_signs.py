"""Rates how surely a line of a gate's output names an error, from a tool's own report to a mere word."""

from __future__ import annotations

import re
from enum import IntEnum


class Sign(IntEnum):
    """How surely a line names an error; a later, surer one outweighs an earlier, vaguer one."""

    WORD = 1  # a word such as "failed", which may be in the name of a passing test
    RAISED = 2  # an exception or a panic, which a passing test may have caused on purpose
    REPORTED = 3  # a compiler, a linter or a test runner reports an error


REPORTED = re.compile(
    rb"""
      E[ ]{2,}\S                                                    # pytest
    | (?:FAIL|ERROR):[ ]\S+[ ]\(                                    # unittest
    | [ ]*---[ ]FAIL:[ ]                                            # go test
    | ----[ ].+[ ]stdout[ ]----                                     # cargo test
    | [ ]+\xe2\x97\x8f[ ](?!Console)                                # jest
    | [ ]FAIL[ ]{2}.+[ ][>\[][ ]                                    # vitest
    | error\[\w+\]:[ ]                                              # cargo
    | [ ]+\d+:\d+[ ]+error[ ]                                       # eslint
    | (?:[A-Z]{1,4}\d{3,4}|(?:invalid-syntax|unformatted|[Ww]ould[ ]reformat):?)[ ]\S  # ruff
    | [^\s:(]++(?::\d+(?::\d+)?:?|\(\d+,\d+\):)[ ](?:-[ ])?(?:fatal[ ])?error\b  # mypy, tsc, gcc
    | (?:vet:[ ])?[^\s:]++:\d+:\d+:[ ](?!warning|note|info)\S       # go, the short form of ruff and others
    """,
    re.VERBOSE,
)
POINT = re.compile(
    rb"""
      [ ]{0,4}[\w.]*+(?<=Error|ption)(?:[ ]\[\w+\])?(?::|$)         # Python, JavaScript
    | (?:\w++\.)+[A-Z]\w*+(?::[ ]|$)                                # an exception of a program's own
    | thread[ ].+[ ]panicked[ ]at[ ]
    | (?:panic|fatal|fatal[ ]error|error|ERROR):[ ]
    | [^\s:]++:\d+:[ ][\w.]+$                                       # where pytest's traceback ends
    """,
    re.VERBOSE,
)
HEADING = re.compile(
    rb"E[ ]{2,}\S|(?:FAIL|ERROR):[ ]|[ ]*---[ ]FAIL:[ ]|----[ ].+[ ]stdout|[ ]+\xe2\x97\x8f[ ]|[ ]FAIL[ ]{2}"
)
"""Names a failed test; the cause or the location follows below."""
TRACEBACK = b"Traceback (most recent call last)"
WORD = re.compile(
    rb"\b(?:errors?|failed|failure|fatal|panic|panicked|exception|traceback|undefined|cannot|not found)\b"
    rb"|\bassert|^e\s|^fail\b|\xe2\x9c\x97|\xe2\x9c\x96|\xc3\x97"
)
NONE = re.compile(rb"\b(?:0 (?:errors?|failed)|[Nn]o errors?)\b")
HARMLESS = (
    *(b" PASSED", b"warning", b"\xe2\x9c\x93", b"\xe2\x9c\x94", b"... ok", b"ok  \t", b"=== RUN", b"--- PASS"),
    *(b"PASS ", b"   Compiling ", b"    Checking ", b"Warning", b"WARN", b"warn ", b"INFO", b"DEBUG"),
)

COLOUR = rb"(?:\x1b[\[(][\d;]*+[a-z])*+"
SUSPECT = [
    re.compile(expression)
    for expression in (
        *(b"error", b"fail", b"fatal", b"panic", b"exception", b"traceback", b"undefined", b"cannot", b"not found"),
        *(b"assert", b"\xe2\x9c", b"\xc3\x97", b"\xe2\x97\x8f", b"reformat"),
        rb"\n%b(?:e\s|---- |invalid-|[a-z]{1,4}\d{3,4}[ \x1b])" % COLOUR,
        rb"\.[a-z]\w*%b:%b\d+%b:%b\d+%b:" % ((COLOUR,) * 5),
    )
]


def of(line: bytes) -> Sign | None:
    """Return the sign of one line without colours."""
    if REPORTED.match(line):
        return Sign.REPORTED
    if POINT.match(line) or TRACEBACK in line:
        return Sign.RAISED
    return Sign.WORD if not _harmless(line) and WORD.search(line.lower()) else None


def _harmless(line: bytes) -> bool:
    for word in HARMLESS:  # any() takes twice the time
        if word in line:
            return True
    return NONE.search(line) is not None


def suspects(text: bytes) -> list[int]:
    """Return positions of lines that may have a sign; several searches are much faster than one combined regex."""
    low = b"\n" + text.lower()
    return sorted(match.end() - 2 for expression in SUSPECT for match in expression.finditer(low))
