"""How strongly a passed task is shown to work, and what its change did to the checks that judged it."""

from __future__ import annotations

from enum import Enum

from ralph.frozen import Frozen


class Evidence(Enum):
    """What shows that a passed task does what it should."""

    PROVEN = "proven"  # a test or a gate was red on the base and is green on the work
    REGRESSION_ONLY = "regression-only"  # all gates are green, but none of them was red without the work
    UNVERIFIED = "unverified"  # no gate was required
    ACCEPTED = "accepted"  # a person decided


class Proof(Frozen):
    """The evidence for one task's work."""

    evidence: Evidence
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without the work


class ConcernKind(Enum):
    """What a change did to the checks."""

    VANISHED = "vanished"  # a test is gone, and nothing else checks what it checked
    SKIPPED = "skipped"  # a test is there and no longer runs: skip, xfail, only
    ASSERTIONS = "assertions"  # a test checks less: an assertion removed or loosened, a threshold lowered, a snapshot
    DEFINITIONS = "definitions"  # what a gate's command leads to: its scripts, its configuration, files that shadow it


class Concern(Frozen):
    """One way in which a change may have weakened the checks."""

    kind: ConcernKind
    path: str
    text: str  # what happened, as a sentence without its subject: "the test test_login is gone"
    line: int | None = None  # in the new file, or in the old one if the file is gone

    def __str__(self) -> str:
        """Format the concern on one line."""
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.text}"
