"""What the gates said about the tests that they ran, on an attempt's base and on its work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.audit.observed import GateCounts, Observed
from ralph.config import IN_PLACE
from ralph.plan.attempt import Attempt
from ralph.plan.model import Gate, GateResult
from ralph.steps.host import Verified
from ralph.verify.counts import ran_in_log
from ralph.verify.reports import load_tests

if TYPE_CHECKING:
    from ralph.engine.run import Run


async def observe(run: Run, attempt: Attempt, verified: Verified) -> Observed:
    """Compare what is known of the gates that are green on the work; run those with a report on the base if need be."""
    green = {result.name: result for result in verified.results if result.passed}
    reports = {name: report for name, result in green.items() if (report := load_tests(result.report))}
    wanted = [gate for gate in attempt.gates if gate.name in reports and not gate.held_out]
    known = {result.name: result for result in reversed(await _on_base(run, attempt, verified.base, wanted))}
    then = {name: report for name in reports if name in known and (report := load_tests(known[name].report))}
    return Observed(
        before=frozenset().union(*(report.ran for report in then.values())),
        after=frozenset().union(*(report.ran for report in reports.values())),
        skipped=frozenset().union(*(report.skipped for report in reports.values())),
        counts=tuple(_counts((green[name] for name in green if name not in reports), known)),
    )


async def _on_base(run: Run, attempt: Attempt, base: str, wanted: list[Gate]) -> tuple[GateResult, ...]:
    """Return the results of the gates on the base."""
    assert run.branch, "what is verified is on a branch"
    tree = await run.branch.repo.tree_of(base)
    known = run.known_results(tree)
    have = {result.name for result in known if result.report}
    for gate in wanted if run.config.verify.where != IN_PLACE else ():
        if gate.name not in have:
            known = (*await run.verifier.quietly(base, (gate,), f"{attempt.label}-base"), *known)
            run.before[tree] = known
    return known


def _counts(results: Iterable[GateResult], known: dict[str, GateResult]) -> Iterator[GateCounts]:
    """Compare the counts in the logs of gates without a report."""
    for result in results:
        then = known.get(result.name)
        before = ran_in_log(Path(then.log)) if then and then.log else None
        after = ran_in_log(Path(result.log)) if before else None
        if before and after is not None:
            yield GateCounts(gate=result.name, before=before, after=after)
