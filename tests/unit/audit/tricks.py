"""A change that weakens the checks, and the concern that it must raise."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.plan.evidence import ConcernKind
from tests.unit.audit.projects import Change, Files, told

KEPT = "def test_kept():\n    assert kept() == 1\n"


@dataclass(frozen=True)
class Trick:
    """A change, and the concern that it must raise."""

    change: Change
    kind: ConcernKind
    path: str
    line: int | None
    text: str  # a part of the sentence

    def check(self) -> None:
        """Assert that it is found, and that a task which may change the file is trusted."""
        found = self.change.concerns()
        wanted = [one for one in found if one.kind is self.kind and one.path == self.path and self.text in one.text]
        assert wanted, told(found)
        assert self.line in [one.line for one in wanted], told(found)
        assert replace(self.change, may=("**",)).concerns() == ()


def trick(
    what: str, base: Files, work: Files, kind: ConcernKind, place: str, text: str, gates: tuple[str, ...] = ("pytest",)
) -> Trick:
    path, _, line = place.partition(":")
    change = Change(what=what, base={"tests/test_kept.py": KEPT, **base}, work=work, gates=gates)
    return Trick(change, kind, path, int(line) if line else None, text)
