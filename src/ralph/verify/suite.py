"""A whole check: the gates, and for UI work fresh services, the pages and the UI gates."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.plan.model import GateResult
from ralph.verify import gates
from ralph.verify.gates import Bench, Gate
from ralph.verify.services import ServiceFailure, Services


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a check came to."""

    results: tuple[GateResult, ...]
    problem: str = ""  # something that is not a gate: a service that is not up

    @property
    def reason(self) -> str:
        """Why it is not green; empty if it is."""
        return "\n\n".join(filter(None, (gates.explain(self.results), self.problem)))


async def check(
    default: tuple[Gate, ...], ui: tuple[Gate, ...], services: Services, bench: Bench, *, is_ui: bool
) -> Checked:
    results = await gates.run_all(default, bench)
    if not is_ui:
        return Checked(results=results)
    try:
        await services.prepare()
        # The built-in page checks have their place here: after fresh services, before the UI gates.
        results += await gates.run_all(ui, bench, first=len(results) + 1)
        services.check_alive()
    except ServiceFailure as failure:
        return Checked(results=results, problem=str(failure))
    return Checked(results=results)
