"""A complete check: the gates, and for UI work also services, pages and UI gates."""

from __future__ import annotations

from dataclasses import replace

from ralph.frozen import Frozen
from ralph.plan.model import Gate, GateResult, PageResult
from ralph.verify import gates, pages
from ralph.verify.gates import GateRun
from ralph.verify.pages import PageVisit
from ralph.verify.services import ServiceFailure, Services


class UiWork(Frozen):
    """What UI work needs besides the gates of all work."""

    services: Services
    gates: tuple[Gate, ...] = ()
    visit: PageVisit | None = None  # None: no browser is needed


class SuiteResult(Frozen):
    """The result of a check."""

    results: tuple[GateResult, ...]
    pages: tuple[PageResult, ...] = ()
    problem: str = ""  # a problem with neither a gate nor a page: a service that is not up

    @property
    def reason(self) -> str:
        """Why it is not green; "" if it is."""
        return "\n\n".join(filter(None, (gates.explain(self.results), self.problem, pages.explain(self.pages))))


async def check(default: tuple[Gate, ...], bench: GateRun, ui: UiWork | None = None) -> SuiteResult:
    """Run everything, even after a failure, so that the next agent sees all problems."""
    visible = tuple(gate for gate in default if not gate.held_out)
    held_out = default[len(visible) :]  # they come last
    checked = await _check(visible, bench, ui)
    more = await gates.run_all(held_out, bench, first=len(checked.results) + 1)
    return replace(checked, results=checked.results + more)


async def _check(default: tuple[Gate, ...], bench: GateRun, ui: UiWork | None) -> SuiteResult:
    results = await gates.run_all(default, bench)
    seen: tuple[PageResult, ...] = ()
    if ui is None:
        return SuiteResult(results=results)
    try:
        await ui.services.prepare()
        if ui.visit:
            seen = await pages.visit_pages(ui.visit, ui.services.url)
        ui.services.check_alive()
        with_ports = replace(bench, environment={**bench.environment, **bench.ui_variables})
        results += await gates.run_all(ui.gates, with_ports, first=len(results) + 1)
        ui.services.check_alive()
    except ServiceFailure as failure:
        return SuiteResult(results=results, pages=seen, problem=str(failure))
    return SuiteResult(results=results, pages=seen)
