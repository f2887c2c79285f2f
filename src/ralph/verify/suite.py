"""A complete check: the gates, and for UI work also services, pages and UI gates."""

from __future__ import annotations

from dataclasses import replace

from ralph.frozen import Frozen
from ralph.plan.model import Gate, GateResult, PageResult
from ralph.verify import gates, pages
from ralph.verify.gate_list import red
from ralph.verify.gates import GateRun
from ralph.verify.pages import PageVisit
from ralph.verify.services import ServiceFailure, Services

NOT_OPENED = "No page was opened, because a gate is red and verify.failFast is on."


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
    left_out: str = ""  # what was not checked besides gates, because of a red one

    @property
    def reason(self) -> str:
        """Why it is not green; "" if it is."""
        parts = (gates.explain(self.results), self.problem, pages.explain(self.pages), self.left_out)
        return "\n\n".join(filter(None, parts))

    @property
    def fails_by_gates_alone(self) -> bool:
        return not self.problem and not pages.explain(self.pages)


async def check(default: tuple[Gate, ...], bench: GateRun, ui: UiWork | None = None) -> SuiteResult:
    """Run everything, even after a failure, so that the next agent sees all problems."""
    visible = tuple(gate for gate in default if not gate.held_out)
    held_out = default[len(visible) :]  # they come last
    checked = await _check(visible, bench, ui)
    done = checked.results
    more = await gates.run_all(held_out, bench, first=len(done) + 1, earlier=done) if held_out else ()
    return replace(checked, results=done + more)


async def _check(default: tuple[Gate, ...], bench: GateRun, ui: UiWork | None) -> SuiteResult:
    results = await gates.run_all(default, bench)
    seen: tuple[PageResult, ...] = ()
    if ui is None:
        return SuiteResult(results=results)
    if bench.fail_fast and red(results):
        results += await gates.run_all(ui.gates, bench, first=len(results) + 1, earlier=results)  # they do not run
        return SuiteResult(results=results, left_out=NOT_OPENED if ui.visit else "")
    try:
        await ui.services.prepare()
        if ui.visit:
            seen = await pages.visit_pages(ui.visit, ui.services.url)
        ui.services.check_alive()
        results += await gates.run_all(ui.gates, _with_services(bench, ui), first=len(results) + 1, earlier=results)
        ui.services.check_alive()
    except ServiceFailure as failure:
        return SuiteResult(results=results, pages=seen, problem=str(failure))
    return SuiteResult(results=results, pages=seen)


def _with_services(bench: GateRun, ui: UiWork) -> GateRun:
    """Return where UI gates run: all in the copy in which the services are, which start anew before one runs again."""
    renew = bench.renew

    async def anew() -> None:
        assert renew, "only what can be renewed runs again"
        await ui.services.end_all()
        await renew()
        await ui.services.prepare()

    bench = replace(bench, environment={**bench.environment, **bench.ui_variables}, beside=None)
    return replace(bench, renew=anew) if renew else bench
