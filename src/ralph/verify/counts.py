"""How many tests a gate ran, by the lines in which test runners count them: for gates without a report."""

from __future__ import annotations

import re
from pathlib import Path

from ralph import safe_files
from ralph.text import strip_ansi

MAX_LOG = 8 << 20  # a larger log is not counted
_RAN = r"(\d+) (?:passed|failed|xfailed|xpassed)\b"
SUMMARIES = (
    ("pytest", r"(?:=+ )?(?:\d+ \w+(?:, )?)+ in [\d.]+s.*", _RAN, ""),
    ("jest", r"Tests:\s+.*\btotal", _RAN, ""),
    ("vitest", r"\s*Tests\s{2,}.*\(\d+\)", _RAN, ""),
    ("playwright", r"  (?:\d+ (?:passed|failed|flaky))\b.*", r"(\d+) (?:passed|failed|flaky)", ""),
    ("mocha", r"\s+\d+ (?:passing|failing)\b.*", r"(\d+) (?:passing|failing)", ""),
    ("node:test", r"[#ℹ] (?:pass|fail) \d+", r"(\d+)", ""),
    ("cargo", r"test result: \w+\. .*", r"(\d+) (?:passed|failed);", ""),
    ("unittest", r"Ran \d+ tests? in .*", r"Ran (\d+)", ""),
    ("unittest", r"(?:OK|FAILED) \(.*skipped=\d+.*", "", r"skipped=(\d+)"),
    ("rspec", r"\d+ examples?, \d+ failures?.*", r"(\d+) example", r"(\d+) pending"),
    ("PHPUnit", r"OK \(\d+ tests?, .*|Tests: \d+, Assertions.*", r"OK \((\d+)|Tests: (\d+)", r"Skipped: (\d+)"),
    ("Maven", r"(?:\[\w+\] )?Tests run: \d+, .*Skipped: \d+", r"run: (\d+)", r"Skipped: (\d+)"),
    ("dotnet", r"(?:Passed|Failed)!\s+- .*", r"(?:Passed|Failed): *(\d+)", ""),
    ("bats", r"\d+ tests, \d+ failures?.*", r"(\d+) tests", r"(\d+) skipped"),
    ("prove", r"Files=\d+, Tests=\d+,.*", r"Tests=(\d+)", ""),
)
"""By runner: a whole line that counts; in it the numbers of tests that ran, and of those that did not."""
_ROWS = tuple(tuple(re.compile(one or r"(?!)") for one in patterns) for _, *patterns in SUMMARIES)


def ran_in_log(log: Path) -> int | None:
    """Return how many tests ran, by all counts in a log together; None if it has no count that is known."""
    data = safe_files.read(log, MAX_LOG)
    return None if data is None else count(strip_ansi(data.decode(errors="replace")))


def count(output: str) -> int | None:
    total, is_counted = 0, False
    for line in output.splitlines():
        if not any(map(str.isdigit, line)):
            continue
        for whole, ran, left_out in _ROWS:
            if whole.fullmatch(line):
                total += _sum(ran, line) - _sum(left_out, line)
                is_counted = True
                break
    return total if is_counted else None


def _sum(pattern: re.Pattern[str], line: str) -> int:
    return sum(int(number) for match in pattern.finditer(line) for number in match.groups() if number)
