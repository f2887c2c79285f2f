"""A task's findings as plan files have them."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.plan.model import Finding
from ralph.validation import Json

LONGEST_FILE, LONGEST_TEXT = 1000, 2000


def finding_entries(findings: Iterable[Finding]) -> list[Json]:
    return [
        {
            "severity": finding.severity.value,
            "file": finding.file,
            "line": finding.line,
            "problem": finding.problem,
            "remedy": finding.remedy,
        }
        for finding in findings
    ]
