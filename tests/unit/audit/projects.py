"""Small projects before and after a change, as tables of tests describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from ralph.audit.audit import audit
from ralph.audit.files import ChangedFile
from ralph.audit.observed import Observed
from ralph.plan.evidence import Concern, ConcernKind
from ralph.plan.model import Gate

Files = Mapping[str, str | None]
V, S, A, D = ConcernKind.VANISHED, ConcernKind.SKIPPED, ConcernKind.ASSERTIONS, ConcernKind.DEFINITIONS


@dataclass(frozen=True, kw_only=True)
class Change:
    """A project, its gates, and what a piece of work did to it."""

    what: str
    gates: tuple[str, ...] = ("pytest",)
    base: Files = field(default_factory=dict)
    work: Files = field(default_factory=dict)  # only what differs; None: the file is gone
    may: tuple[str, ...] = ()
    observed: Observed | None = None

    def concerns(self) -> tuple[Concern, ...]:
        before = {path: _bytes(text) for path, text in self.base.items()}
        changes = [
            ChangedFile(path=path, before=before.get(path), after=_bytes(text)) for path, text in self.work.items()
        ]
        gates = [Gate(name=command, command=command, timeout=60) for command in self.gates]
        return audit(
            changes, gates, read_base=before.get, list_base=lambda: list(before), may=self.may, observed=self.observed
        )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else dedent(text).lstrip("\n").encode()


def told(concerns: tuple[Concern, ...]) -> list[str]:
    return [f"{concern.kind.value} {concern}" for concern in concerns]
