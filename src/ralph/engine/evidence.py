"""Evidence: finds out whether a test or a gate fails without an attempt's work.

The gates, as the work defines them, run on the base with the work's own tests in it. What is red there and green on
the work shows what the work does. Results that are known already, such as the baseline's, are not made again.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from ralph.audit.conventions import belongs_to_tests, is_test_file
from ralph.config import IN_PLACE
from ralph.git.trees import NOTHING, changes_between, entries_at, with_entries
from ralph.journal.events import EvidenceEnded, EvidenceStarted
from ralph.plan.attempt import Attempt
from ralph.plan.evidence import Evidence, Proof
from ralph.plan.model import Gate, GateResult
from ralph.steps.host import Verified
from ralph.verify.gate_list import red
from ralph.verify.junit import TestReport
from ralph.verify.reports import load_tests, ran_nothing

if TYPE_CHECKING:
    from ralph.engine.run import Run

MAX_NAMES = 20


async def weigh(run: Run, attempt: Attempt, verified: Verified, redefining: Collection[str]) -> Proof:
    """Return the evidence for green work; run gates without it only if nothing is known about them.

    `redefining` are the work's files that change what the gates' commands lead to.
    """
    results = verified.results
    if not any(result.required for result in results):
        return Proof(evidence=Evidence.UNVERIFIED)
    if run.config.verify.where == IN_PLACE:  # its gates need what only the slot has
        return Proof(evidence=Evidence.REGRESSION_ONLY)
    assert run.branch, "what is verified is on a branch"
    began = time.monotonic()
    base = await run.branch.repo.tree_of(verified.base)
    without = await _without_work(run, attempt, base, verified, redefining)
    names = proven_by(results, without, run.known_results(base))
    if attempt.acceptance and attempt.acceptance.gates.intersection(names):  # no report names the tests
        names = (*names, *filter(is_test_file, attempt.acceptance.paths))
    proof = Proof(evidence=Evidence.PROVEN if names else Evidence.REGRESSION_ONLY, proven_by=names)
    run.emit(
        EvidenceEnded(
            work=attempt.work.id,
            attempt=attempt.number,
            evidence=proof.evidence,
            proven_by=proof.proven_by,
            seconds=time.monotonic() - began,
        )
    )
    return proof


async def _without_work(
    run: Run, attempt: Attempt, base: str, verified: Verified, redefining: Collection[str]
) -> tuple[GateResult, ...]:
    """Return gate results for the base with the work's tests and gate definitions in it, up to the first red one."""
    assert run.branch, "what is verified is on a branch"
    repo = run.branch.repo
    work = await repo.tree_of(verified.commit)
    changed = [change for change in await changes_between(repo, base, work) if change.path not in run.own]
    tests = [
        change.path for change in changed if change.new_mode != NOTHING and _is_test(attempt, change.path, repo.prefix)
    ]
    definitions = [change.path for change in changed if change.path.removeprefix(repo.prefix) in redefining]
    checks = {*tests, *definitions}
    tree = await with_entries(repo, base, await entries_at(repo, work, checks)) if checks else base
    known = run.known_results(tree)
    names = {result.name for result in known}
    missing = tuple(
        gate for gate in _telling(attempt.gates, verified.results) if gate.name not in names or _is_own(gate, attempt)
    )
    if missing and not red(known):
        run.emit(EvidenceStarted(work=attempt.work.id, attempt=attempt.number, tests=len(tests)))
        made = repo.write_commit(tree, (verified.base,), f"{attempt.work.id}: the base with the tests of the work")
        known += await run.verifier.quietly(made, missing, f"{attempt.label}-evidence", until_red=True)
        run.before[tree] = known
    return known


def _is_test(attempt: Attempt, path: str, prefix: str) -> bool:
    tests = attempt.acceptance
    return belongs_to_tests(path.removeprefix(prefix)) or bool(tests and path.removeprefix(prefix) in tests.paths)


def _is_own(gate: Gate, attempt: Attempt) -> bool:
    """Return whether a gate runs the task's own acceptance tests: what is known by its name is of another task."""
    return bool(gate.held_out and gate.held_out.tests_of == (attempt.work.id,))


def _telling(gates: tuple[Gate, ...], results: tuple[GateResult, ...]) -> tuple[Gate, ...]:
    """Return the gates that can show something: those with reports if there are any, because they name tests."""
    green = {result.name for result in results if result.passed}
    wanted = [gate for gate in gates if gate.required and gate.name in green]
    visible = [gate for gate in wanted if not gate.held_out]
    return (*([gate for gate in visible if gate.report] or visible), *(gate for gate in wanted if gate.held_out))


def proven_by(
    work: tuple[GateResult, ...], without: tuple[GateResult, ...], base: tuple[GateResult, ...] = ()
) -> tuple[str, ...]:
    """Return what is green with the work and red without it: tests by name if reports tell, else gates.

    `base` are the results of the base as it was, without the work's tests. That no test was there shows nothing.
    """
    was_red = {result.name: result for result in red(without) if not ran_nothing(result)}
    found: list[str] = []
    for result in work:
        is_sure = result.passed and result.required and not result.flaky
        old = was_red.get(result.name) if is_sure else None
        if old:
            earlier = next((one for one in base if one.name == result.name), None)
            found += _tests(result, old, earlier) or [result.name]
    found = list(dict.fromkeys(found))  # several held-out gates can have the same name
    more = [f"and {len(found) - MAX_NAMES} more"] if len(found) > MAX_NAMES else []
    return (*found[:MAX_NAMES], *more)


def _tests(work: GateResult, without: GateResult, base: GateResult | None) -> list[str]:
    """Return the tests of a gate that need the work: they failed without it, or could not run and are new."""
    now, then = load_tests(work.report), load_tests(without.report) or TestReport()
    if now is None:
        return []
    before = load_tests(base.report) if base else None
    known = then.passed.union(before.passed if before else ())
    return sorted(now.passed.intersection(then.failed) | now.passed.difference(known))
