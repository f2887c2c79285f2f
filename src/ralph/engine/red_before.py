"""Gates that were red before an attempt began: whether they still fail in the same way.

A failure is the same if the same tests fail, by the gate's report, or else if the first failing line is the same.
A gate that prints nothing has no failure to compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ralph.plan.model import GateResult
from ralph.verify.gate_list import red

TIMES = 2
"""Attempts in a row, of one task or of several, after which such a failure is not the agents' to repair."""
CHANGING = re.compile(r"(?<!\w)/(?:[^\s/:]+/)+|\b0x[0-9a-fA-F]+\b|\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?)\b")
"""Folders, addresses and durations, which differ from run to run."""


@dataclass
class RedBefore:
    """How gates failed before the attempts, and how often in a row attempts have failed in just that way."""

    failures: dict[str, str] = field(default_factory=dict)  # by the gate's name
    red: set[str] = field(default_factory=set)  # by name, also if their failure cannot be compared
    times: int = 0

    def learn(self, results: Iterable[GateResult]) -> None:
        """Remember how gates fail on the branch."""
        for result in results:
            self.failures.pop(result.name, None)
            if result.not_run:
                continue
            (self.red.discard if result.passed else self.red.add)(result.name)
            failure = "" if result.passed else failure_of(result)
            if failure:
                self.failures[result.name] = failure

    def is_unchanged(self, results: tuple[GateResult, ...]) -> bool:
        """Count an attempt; return whether its gates fail as before, and nothing else, for the second time in a row."""
        for result in results:
            if result.passed:  # agents can make it pass
                self.failures.pop(result.name, None)
                self.red.discard(result.name)
        bad = red(results)
        is_same = bool(bad) and all(self.failures.get(result.name) == failure_of(result) for result in bad)
        self.times = self.times + 1 if is_same else 0
        return self.times >= TIMES


def failure_of(result: GateResult) -> str:
    """Return what identifies a failure; "" if nothing does. Agents see nothing of a held-out gate, so it has none."""
    if result.held_out:
        return ""
    from ralph.verify.output import first_failing  # a run whose gates are green needs neither
    from ralph.verify.reports import load_tests

    tests = load_tests(result.report)
    if tests and tests.failed:
        return "\n".join(sorted(tests.failed))
    line = CHANGING.sub("…", first_failing(result.output))
    return f"{result.code}: {line}" if line else ""
