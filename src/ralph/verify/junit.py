"""Reads the JUnit XML reports that test runners write: which tests passed, failed and were skipped.

A report is hostile input: the agent's code runs inside the gate that writes it. It is read as a stream, within bounds,
and a document that declares entities is refused.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.text import plain, readable

MAX_REPORT = 64 << 20
MAX_FILES = 2_000
MAX_TESTS = 200_000
MAX_NAME = 300
MAX_FAILURES = 200
MAX_FAILURE_TEXT = 1_500
CHUNK = 1 << 16


class BadReport(Exception):
    """A report that cannot be read; says why."""


class TestReport(Frozen):
    """The tests of one run by name; a name that appears twice has its worst result."""

    __test__ = False  # pytest must not take it for a test

    passed: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)  # with what the report says about each, for the first few
    skipped: frozenset[str] = frozenset()
    unnamed: int = 0  # failures that a suite counts, if the report names no test that failed

    @property
    def ran(self) -> frozenset[str]:
        return self.passed.union(self.failed)

    @property
    def total(self) -> int:
        return len(self.passed) + len(self.failed) + len(self.skipped)

    def __str__(self) -> str:
        """Return the counts: "40 passed, 2 failed"."""
        counts = ((len(self.passed), "passed"), (len(self.failed), "failed"), (len(self.skipped), "skipped"))
        said = [f"{count} {what}" for count, what in counts if count]
        return ", ".join(said) or "no tests"


def read_reports(paths: Iterable[Path]) -> TestReport:
    """Read all report files of one gate as one report; raise `BadReport` if any of them cannot be used."""
    reader = _TestCases()
    room = MAX_REPORT
    for number, path in enumerate(paths, 1):
        if number > MAX_FILES:
            raise BadReport(f"there are more than {MAX_FILES:,} report files")
        try:
            with safe_files.open_old(path) as file:
                room -= reader.read(file, room)
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise BadReport(f"{path.name} cannot be read: {why}") from None
        except (ValueError, LookupError):  # Python's codecs raise these, and no parser error
            raise BadReport(f"{path.name} has an encoding that cannot be read") from None
        except expat.ExpatError as error:
            raise BadReport(f"{path.name} is not complete XML: {error}") from None
        except BadReport as error:
            raise BadReport(f"{path.name} {error}") from None
    return reader.report()


class _TestCases:
    """Collects test cases from a stream of XML; everything else in the documents is passed over."""

    def __init__(self) -> None:
        self._passed: set[str] = set()
        self._failed: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._test = ""
        self._status = ""
        self._text: list[str] = []
        self._room = 0
        self._counted = 0  # failures, by the suite that counts most

    def read(self, file: BinaryIO, room: int) -> int:
        """Read one file; return its size."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse_entities
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        size = 0
        while data := file.read(CHUNK):
            size += len(data)
            if size > room:
                raise BadReport(f"is too large: reports may have {MAX_REPORT >> 20} MB in all")
            parser.Parse(data, False)
        parser.Parse(b"", True)
        return size

    def report(self) -> TestReport:
        failed = self._failed
        passed = frozenset(self._passed.difference(failed, self._skipped))
        unnamed = 0 if failed else self._counted
        skipped = frozenset(self._skipped.difference(failed))
        return TestReport(passed=passed, failed=failed, skipped=skipped, unnamed=unnamed)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        match name.rpartition("}")[2].rpartition(":")[2]:
            case "testcase":
                self._test, self._status = _name(attributes), "passed"
                self._text, self._room = [], 0
            case "testsuite" | "testsuites":
                counts = (attributes.get(key, "") for key in ("failures", "errors"))
                self._counted = max(self._counted, sum(int(one) for one in counts if re.fullmatch("[0-9]{1,9}", one)))
            case "failure" | "error" if self._test:
                self._status = "failed"
                self._room = MAX_FAILURE_TEXT
                self._characters(attributes.get("message", "") + "\n")
            case "skipped" | "disabled" if self._test and self._status == "passed":
                self._status = "skipped"

    def _end(self, name: str) -> None:
        element = name.rpartition("}")[2].rpartition(":")[2]
        if element in ("failure", "error"):
            self._room = 0
        if element != "testcase" or not self._test:
            return
        match self._status:
            case "failed":
                text = "".join(self._text) if len(self._failed) < MAX_FAILURES else ""
                self._failed.setdefault(self._test, _tidy(text))
            case "skipped":
                self._skipped.add(self._test)
            case _:
                self._passed.add(self._test)
        if len(self._passed) + len(self._failed) + len(self._skipped) > MAX_TESTS:
            raise BadReport(f"has more than {MAX_TESTS:,} tests")
        self._test = ""

    def _characters(self, text: str) -> None:
        if self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)


def _refuse_entities(*_: object) -> None:
    raise BadReport("declares entities, which no test runner does")


def _name(attributes: Mapping[str, str]) -> str:
    """Return a test's name: its class or file, then its own."""
    parts = (attributes.get("classname") or attributes.get("file", ""), attributes.get("name", ""))
    name = " › ".join(dict.fromkeys(_tidy(part) for part in parts if part)) or "a test without a name"
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _tidy(text: str) -> str:
    lines = (line.rstrip() for line in plain(readable(text)).strip().split("\n"))
    return "\n".join(line for line in lines if line)
