"""What reviewers and the browser find."""

from __future__ import annotations

from enum import Enum

from ralph.frozen import Frozen


class Severity(Enum):
    """How serious a reviewer's finding is."""

    CRITICAL = "critical"  # wrong behaviour, data loss or a security hole
    MAJOR = "major"  # a criterion is not met, or something important is missing
    MINOR = "minor"  # it could be better


class Finding(Frozen):
    """One problem that a reviewer found."""

    severity: Severity
    problem: str
    file: str = ""  # empty: it is not about one file
    line: int | None = None
    remedy: str = ""

    def __str__(self) -> str:
        """Format the finding on one line."""
        where = f" {self.file}:{self.line}" if self.file and self.line else f" {self.file}" if self.file else ""
        remedy = f" → {self.remedy}" if self.remedy else ""
        return " ".join(f"{self.severity.value}{where}: {self.problem}{remedy}".split())


class PageFinding(Frozen):
    """A problem with a page."""

    page: str  # as the criterion names it
    kind: str  # status, load, request, console, exception, banner, overlay, blank, crash
    text: str
    screenshot: str = ""

    @property
    def line(self) -> str:
        return f"{self.page} · {self.kind} · {self.text}"


class PageResult(Frozen):
    """One page and what a browser found there."""

    page: str
    url: str
    seconds: float
    status: int | None = None  # None: there was no response
    findings: tuple[PageFinding, ...] = ()
    screenshot: str = ""  # relative to the project root, if it is below it

    @property
    def passed(self) -> bool:
        return not self.findings
