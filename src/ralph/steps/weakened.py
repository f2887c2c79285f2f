"""What follows from weakened checks: the attempt fails, a person or a reviewer must approve it, or it is only told."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ralph.config import Integrity
from ralph.frozen import Frozen
from ralph.plan.evidence import Concern, ConcernKind
from ralph.plan.work import listed

REMEDY = "Restore them. Do not weaken a check to make the gates green."


class Weakened(Frozen):
    """The concerns about some work, by their consequences."""

    failed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    told: tuple[str, ...] = ()  # never shown to the agent whose work it is
    redefining: frozenset[str] = frozenset()  # files that change what a gate's command leads to

    @property
    def concerns(self) -> tuple[str, ...]:
        return (*self.failed, *self.held, *self.told)

    @property
    def reason(self) -> str:
        """Why the attempt fails; empty if it does not."""
        return f"{listed('The work weakened the checks', self.failed)}\n\n{REMEDY}" if self.failed else ""


def sort_by_consequence(concerns: Iterable[Concern], settings: Integrity, approved: Collection[str]) -> Weakened:
    """Sort concerns by what the configuration says; what a person has approved is only told."""
    sorted_: dict[str, list[str]] = {"fail": [], "hold": [], "tell": []}
    found = tuple(concerns)
    for concern in found:
        text = str(concern)
        what = getattr(settings, concern.kind.value)
        sorted_["tell" if text in approved else what].append(text)
    return Weakened(
        failed=tuple(sorted_["fail"]),
        held=tuple(sorted_["hold"]),
        told=tuple(sorted_["tell"]),
        redefining=frozenset(concern.path for concern in found if concern.kind is ConcernKind.DEFINITIONS),
    )
