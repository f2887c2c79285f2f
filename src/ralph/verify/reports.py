"""The JUnit reports of one gate: which files it wrote, what they say, and what is wrong with them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.plan.model import GateResult
from ralph.process.redaction import Secrets
from ralph.verify.junit import MAX_FILES, BadReport, TestReport, read_reports

MAX_SHOWN = 10
MAX_SHOWN_TEXT = 2_500
MAX_STORED = 32 << 20


@dataclass
class ReportFiles:
    """A gate's report files. Only files that were written while it ran count: others are of an earlier run, or forged.

    The time of a file's last change tells them apart. Unlike that of its content, no program can set it.
    """

    glob: str
    folder: Path
    pass_with_no_tests: bool = False
    _before: dict[Path, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._before = self._now()

    def read(self, *, passed: bool) -> FoundTests:
        """Read what the gate wrote.

        After exit code 0, a report that is missing, unreadable or red is a problem, and so is one without a test.
        """
        if not self.glob:
            return FoundTests()
        new = [path for path, state in self._now().items() if self._before.get(path) != state]
        if not new:
            return FoundTests(problem=f"it wrote no report ({self.glob})" if passed else "")
        try:
            report = read_reports(new)
        except BadReport as error:
            return FoundTests(problem=f"its report {error}")
        return FoundTests(report=report, problem=self._problem(report))

    def _problem(self, report: TestReport) -> str:
        if failed := len(report.failed):
            return f"its report says that {failed} test{'s' if failed > 1 else ''} failed"
        if count := report.unnamed:
            return f"its report counts {count} failure{'s' if count > 1 else ''} and names none"
        if report.ran or self.pass_with_no_tests:
            return ""
        return "all tests in its report were skipped" if report.skipped else "its report has no test"

    def _now(self) -> dict[Path, tuple[int, ...]]:
        found: dict[Path, tuple[int, ...]] = {}
        for path in islice(self.folder.glob(self.glob) if self.glob else (), MAX_FILES + 1):
            try:
                about = path.lstat()
            except OSError:
                continue
            found[path] = about.st_ctime_ns, about.st_ino, about.st_size
        return dict(sorted(found.items()))


class FoundTests(Frozen):
    """What the reports of a gate say."""

    report: TestReport | None = None  # None: there is none that can be read
    problem: str = ""  # why the gate must not pass, although its exit code is 0

    @property
    def counts(self) -> str:
        return str(self.report) if self.report else ""

    @property
    def failures(self) -> str:
        """Return the tests that failed and why, for a person and the next prompt."""
        failed = self.report.failed if self.report else {}
        shown = [f"{name}\n{text}".strip() for name, text in islice(failed.items(), MAX_SHOWN)]
        left = len(failed) - len(shown)
        more = f"\n… and {left} more" if left > 0 else ""
        return ("Failed tests:\n" + "\n".join(shown))[:MAX_SHOWN_TEXT] + more if shown else ""

    def save(self, path: Path, secrets: Secrets) -> str:
        """Keep the tests by name beside the gate's log; return the file's path, or "" if there is nothing to keep."""
        if self.report is None:
            return ""
        names = {"passed": self.report.passed, "failed": self.report.failed, "skipped": self.report.skipped}
        text = json.dumps({key: sorted(value) for key, value in names.items()})
        with safe_files.open_new(path) as file:
            file.write(secrets.text(text).encode())
        return os.fspath(path)


def ran_nothing(result: GateResult) -> bool:
    """Return whether a gate is red only because it ran no test."""
    if result.passed or result.code != 0:
        return False
    report = load_tests(result.report)
    return report is not None and not report.ran


def load_tests(path: str) -> TestReport | None:
    """Read back what `save` kept; None if there is nothing that can be used."""
    data = safe_files.read(Path(path), MAX_STORED) if path else None
    try:
        found = json.loads(data) if data else None
        names = {key: frozenset(map(str, found[key])) for key in ("passed", "failed", "skipped")} if found else {}
    except (ValueError, TypeError, KeyError):
        return None
    if not names:
        return None
    return TestReport(passed=names["passed"], failed=dict.fromkeys(names["failed"], ""), skipped=names["skipped"])
