"""Landing: commits passed work and its state together on the branch, once the gates have seen exactly that tree."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_message import TRAILER, commit_message
from ralph.engine.coupling import count_conflict, merged, same_code
from ralph.engine.host import LocalHost
from ralph.engine.receipts import Landing, add_missing, model_asked_for, receipt_of
from ralph.engine.run import Run
from ralph.engine.settle import settle
from ralph.engine.train import Coupling
from ralph.git.read import attempt_ref
from ralph.git.trees import changes_between
from ralph.journal.events import Landed, Noted
from ralph.plan.attempt import Record
from ralph.plan.work import Outcome, Verdict, Work
from ralph.steps.verify import TOGETHER, conflict_need
from ralph.verify.suite import SuiteResult

MAX_TRIES = 3


@asynccontextmanager
async def take_turn(run: Run) -> AsyncIterator[None]:
    """Serialize changes to the plan and the branch; undo moves of the branch by other processes."""
    async with run.turn:
        if run.branch:
            await _reclaim(run, run.branch)
        yield


async def _reclaim(run: Run, branch: TargetBranch) -> None:
    kept = await branch.reclaim()
    if kept:
        text = f"Another process moved {branch.name}, where only verified work may land. Ralph undid that"
        run.emit(Noted(text=f"{text} and kept the other commit in {kept}.", warning=True))


def can_land(work: Work, outcome: Outcome) -> bool:
    """Return whether an attempt has made something that lands."""
    return outcome.verdict is Verdict.PASSED and work.lands and bool(outcome.commit)


async def arrive(run: Run, host: LocalHost, work: Work, record: Record, outcome: Outcome) -> Outcome:
    """Have passed work verified as the tree that it lands as, after everything ahead of it; return the outcome there.

    The caller must not hold the turn: other attempts are verified at the same time.
    """
    branch, car = run.branch, host.car
    assert branch and car, "work that lands has a branch, and rides the train"
    if car.landed_as:
        return outcome

    async def check(coupling: Coupling) -> SuiteResult:
        seen = outcome.verified_tree
        tree = await branch.repo.tree_of(coupling.commit)
        if not _has_gates(work) or tree in run.verified or (seen and await same_code(run, branch, seen, tree)):
            return SuiteResult(results=outcome.gates)
        return await _verified(run, host, work, record, coupling.commit)

    train = run.train(work.line)
    arrival = await host.interrupt.interruptible(train.arrive(car, outcome.commit, check))
    if arrival is None:
        return replace(outcome, verdict=Verdict.INTERRUPTED)
    coupling, result = arrival.coupling, arrival.result
    if result is None:
        too_often = count_conflict(run, work)
        need = conflict_need(coupling.conflict) if too_often else None
        verdict = Verdict.BLOCKED if too_often else Verdict.CONFLICTED
        return replace(outcome, verdict=verdict, reason=coupling.conflict, need=need)
    if result.reason:
        reason = f"{result.reason}\n\n{TOGETHER}" if coupling.is_merged else result.reason
        return replace(outcome, verdict=Verdict.FAILED, reason=reason, gates=result.results)
    if not _has_gates(work):
        return outcome
    return replace(outcome, gates=result.results, verified_tree=await branch.repo.tree_of(coupling.commit))


async def land(run: Run, host: LocalHost, work: Work, record: Record, outcome: Outcome) -> Outcome | None:
    """Land an attempt's work on the branch and update the plan; return None if the branch is not what it arrived at.

    The caller must hold the turn.
    """
    branch, car = run.branch, host.car
    assert branch and car, "work that lands has a branch, and rides the train"
    if car.landed_as:
        return await _landed_before(run, host, work, record, outcome, car.landed_as)
    car.commit = outcome.commit
    for _ in range(MAX_TRIES):
        tip = await branch.tip(work.line)
        tree, conflicts = await merged(run, branch, car, tip)
        if conflicts or (_has_gates(work) and not await same_code(run, branch, outcome.verified_tree, tree)):
            break
        if not await _changes_code(run, branch, tree, tip):
            await branch.repo.keep(attempt_ref(record.target, work.id, record.number), outcome.commit)
            settled = _settled(run, work, replace(outcome, commit=await _earlier(run, branch, work)))
            await run.commit_state()
            run.train(work.line).land(car)
            return settled
        reverified = _has_gates(work) and not await same_code(
            run, branch, await branch.repo.tree_of(outcome.commit), tree
        )
        async with run.ahead:
            commit = await _advance(run, branch, work, record, outcome, tree, tip, reverified=reverified)
        if commit:
            run.train(work.line).land(car)
            run.emit(Landed(work=work.id, attempt=record.number, commit=commit))
            return replace(outcome, commit=commit)
        await _reclaim(run, branch)
    run.train(work.line).uncouple(car)
    return None


async def _landed_before(
    run: Run, host: LocalHost, work: Work, record: Record, outcome: Outcome, commit: str
) -> Outcome:
    """Settle work that had landed before the run was killed, after the gates have seen it again."""
    assert run.branch
    tree = await run.branch.repo.tree_of(commit)
    if _has_gates(work):
        checked = await run.interrupt.interruptible(_verified(run, host, work, record, commit))
        if checked is None:
            return replace(outcome, verdict=Verdict.INTERRUPTED)
        verdict = Verdict.FAILED if checked.reason else outcome.verdict
        outcome = replace(outcome, verdict=verdict, reason=checked.reason, gates=checked.results)
    await add_missing(run, run.branch, Landing(work=work, record=record, outcome=outcome, commit=commit, tree=tree))
    _settled(run, work, replace(outcome, commit=_named(work, commit)))
    return replace(outcome, commit=commit)


def _has_gates(work: Work) -> bool:
    """Return whether gates judge some work; none judge a set-up."""
    return any(spec.type == "verify" for spec in work.steps)


async def _verified(run: Run, host: LocalHost, work: Work, record: Record, commit: str) -> SuiteResult:
    """Run the gates on a commit that contains an attempt's work."""
    task, number = run.plan.find(work.id), record.number
    label, gates = f"{work.id}-{number}-landing", run.gates(task)
    return await run.verifier.check(
        commit, gates, label, work=work.id, attempt=number, task=task, ui=number, slot=host.copy
    )


async def landing_of(run: Run, work: Work, record: Record) -> str:
    """Return the commit with which an attempt had landed before the run was killed; "" if it had not."""
    branch = run.branch
    assert branch, "work that lands has a branch"
    line = f"{TRAILER}: {record.target}/{work.id}/{record.number}"
    return await branch.repo.has_line(record.base, await branch.tip(work.line), line)


async def _changes_code(run: Run, branch: TargetBranch, tree: str, tip: str) -> bool:
    """Return whether anything but state would land."""
    before = await branch.repo.tree_of(tip)
    return any(change.path not in run.own for change in await changes_between(branch.repo, before, tree))


async def _earlier(run: Run, branch: TargetBranch, work: Work) -> str:
    """Return the commit to record for work that changes no code.

    A spec has its last commit, or the last commit of the branch.
    """
    spec = run.plan.find_spec(work.closes) if work.closes else None
    if spec and spec.result and spec.result.commit:
        return spec.result.commit
    # either a person's commits on the branch did the work, or the report alone is the work
    return "" if work.duties else _named(work, await branch.tip())


def _named(work: Work, commit: str) -> str:
    """Return the commit to write into the plan; one on a line is not named, because another replaces it."""
    return "" if work.line else commit


def _settled(run: Run, work: Work, outcome: Outcome) -> Outcome:
    run.save(settle(run.plan, work, outcome, run.workflow.policy))
    return outcome


async def _advance(
    run: Run,
    branch: TargetBranch,
    work: Work,
    record: Record,
    outcome: Outcome,
    tree: str,
    tip: str,
    *,
    reverified: bool,
) -> str:
    """Commit work and state together and move the branch once; return "" if another process moved it first."""
    repo, before, policy = branch.repo, run.plan, run.workflow.policy
    own = run.workflow.commit_message(before, work)
    subject = own if work.closes else outcome.summary or own
    run.save(settle(before, work, replace(outcome, commit=""), policy))  # a commit cannot contain its own id
    message = commit_message(
        subject,
        task=before.find(work.id),
        outcome=outcome,
        attempt=f"{record.target}/{work.id}/{record.number}",
        config=run.config,
        model=outcome.usage.model or model_asked_for(run, outcome.agent),
        trailer=work.trailer,
    )
    landed = await _with_state(run, tree, tip)
    commit = repo.write_commit(landed, (tip,), message)
    ref = (attempt_ref(record.target, work.id, record.number), outcome.commit, None)
    landing = Landing(work=work, record=record, outcome=outcome, commit=commit, tree=landed, reverified=reverified)
    moved = False
    try:
        receipt = await receipt_of(run, branch, landing, before=tip)
        moved = await branch.with_receipt(
            receipt,
            lambda *notes: branch.land(commit, tip, ref, *notes, line=work.line, closes=work.closes),
        )
    finally:
        if not moved:
            run.plan = run.workflow.store.save(before) or before
            run.expect_plan()
    if not moved:
        return ""
    run.verified[tree] = run.verified[landed] = outcome.gates
    run.red_before.learn(outcome.gates)
    run.save(settle(before, work, replace(outcome, commit=_named(work, commit)), policy))
    return commit


async def _with_state(run: Run, tree: str, tip: str) -> str:
    """Return the tree with Ralph's current own files; unchanged if they must not be committed."""
    if run.plans and run.own.held and run.config.commits.prd_changes:
        run.plans.repo.trees.setdefault(tree, tree)
        return await run.plans.tree_with(tree, run.workflow.state_paths)
    return tree
