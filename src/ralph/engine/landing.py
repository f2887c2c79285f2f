"""Landing: commits passed work and its state together on the branch, after verifying exactly that tree."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_message import TRAILER, commit_message
from ralph.engine.host import LocalHost
from ralph.engine.receipts import Landing, add_missing, model_asked_for, receipt_of
from ralph.engine.run import Run
from ralph.engine.settle import settle
from ralph.errors import RalphError
from ralph.git.read import attempt_ref
from ralph.git.trees import changes_between
from ralph.journal.events import Landed, Noted
from ralph.plan.attempt import Record
from ralph.plan.work import Outcome, Verdict, Work

MAX_CONFLICTS = 5
MAX_TRIES = 3
MAX_CONFLICT_TEXT = 3_000


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


async def land(
    run: Run, host: LocalHost | None, work: Work, record: Record, outcome: Outcome, *, resumed: bool = False
) -> Outcome:
    """Land an attempt's work on the branch or send it back, and update the plan. The caller must hold the turn."""
    branch = run.branch
    assert branch is not None, "work that lands has a branch"
    done = await _landed_as(branch, work, record) if resumed else ""
    if done:  # the branch says that it had landed before the run was killed
        tree = await branch.repo.tree_of(done)
        outcome = await _verify_again(run, host, work, record, outcome, tree, record.base, has_moved=False)
        if outcome.verdict is Verdict.INTERRUPTED:
            return outcome
        await add_missing(run, branch, Landing(work=work, record=record, outcome=outcome, commit=done, tree=tree))
        _settled(run, work, replace(outcome, commit=_named(work, done)))
        return replace(outcome, commit=done)
    for _ in range(MAX_TRIES):
        tip = await branch.tip(work.line)
        together, tree = await _bring_together(run, host, work, record, outcome, tip)
        if together.verdict is not Verdict.PASSED:
            if together.verdict is not Verdict.INTERRUPTED:
                await _keep(branch, work, record, outcome)
                run.save(settle(run.plan, work, together, run.workflow.policy))
            return together
        if not await _changes_code(run, branch, tree, tip):
            await _keep(branch, work, record, outcome)
            settled = _settled(run, work, replace(together, commit=await _earlier(run, branch, work)))
            await run.commit_state()
            return settled
        is_merged = tree != await branch.repo.tree_of(outcome.commit)
        reverified = is_merged and together.gates is not outcome.gates
        async with run.ahead:
            commit = await _advance(run, branch, work, record, together, tree, tip, reverified=reverified)
        if commit:
            run.emit(Landed(work=work.id, attempt=record.number, commit=commit))
            return replace(together, commit=commit)
        await _reclaim(run, branch)
    raise RalphError(f"Another process keeps moving {branch.name}.", remedy="Stop that process, then run again.")


async def _landed_as(branch: TargetBranch, work: Work, record: Record) -> str:
    """Return the commit with which an attempt had landed before the run was killed; "" if it had not."""
    line = f"{TRAILER}: {record.target}/{work.id}/{record.number}"
    return await branch.repo.has_line(record.base, await branch.tip(work.line), line)


async def _keep(branch: TargetBranch, work: Work, record: Record, outcome: Outcome) -> None:
    await branch.repo.keep(attempt_ref(record.target, work.id, record.number), outcome.commit)


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


async def _bring_together(
    run: Run, host: LocalHost | None, work: Work, record: Record, outcome: Outcome, tip: str
) -> tuple[Outcome, str]:
    """Merge the work with the branch; return the outcome there and the merged tree."""
    assert run.branch
    repo = run.branch.repo
    tree = work_tree = await repo.tree_of(outcome.commit)
    has_moved = False
    if record.base != tip:
        fork = await repo.merge_base(record.base, tip)
        before, after = await repo.tree_of(fork), await repo.tree_of(tip)
        has_moved = any(change.path not in run.own for change in await changes_between(repo, before, after))
        squashed = repo.write_commit(tree, (record.base,), "What an attempt made")
        tree, conflicts = await repo.merged(tip, squashed)
        code = [path for path in conflicts if path not in run.own]
        if code:
            run.conflicts[work.id] = run.conflicts.get(work.id, 0) + 1
            free = run.conflicts[work.id] <= MAX_CONFLICTS
            reason = await _conflict(run, tip, tree, code)
            return replace(outcome, verdict=Verdict.CONFLICTED if free else Verdict.FAILED, reason=reason), ""
    if tree in run.verified or (not has_moved and outcome.verified_tree == work_tree):
        return outcome, tree
    return await _verify_again(run, host, work, record, outcome, tree, tip, has_moved=has_moved), tree


async def _verify_again(
    run: Run,
    host: LocalHost | None,
    work: Work,
    record: Record,
    outcome: Outcome,
    tree: str,
    tip: str,
    *,
    has_moved: bool,
) -> Outcome:
    """Run the gates on a tree that they have not seen yet and return the resulting outcome."""
    assert run.branch
    if not any(spec.type == "verify" for spec in work.steps):
        return outcome  # this is a set-up and has no gates
    commit = run.branch.repo.write_commit(tree, (tip,), f"{work.id}, attempt {record.number}: merged with the branch")
    task = run.plan.find(work.id)
    label, gates, number = f"{work.id}-{record.number}-landing", run.gates(task), record.number
    slot = host.copy if host else None
    checked = await run.interrupt.interruptible(
        run.verifier.check(commit, gates, label, work=work.id, attempt=number, task=task, ui=number, slot=slot)
    )
    if checked is None:
        return replace(outcome, verdict=Verdict.INTERRUPTED)
    if not checked.reason:
        return replace(outcome, gates=checked.results)
    reason = checked.reason
    if has_moved:
        reason = f"It fails together with work that landed after this attempt began. {reason}"
    return replace(outcome, verdict=Verdict.FAILED, reason=reason, gates=checked.results)


async def _conflict(run: Run, tip: str, tree: str, paths: list[str]) -> str:
    assert run.branch
    both = await run.branch.repo.git("diff-tree", "-p", tip, tree, "--", *paths)
    both = run.secrets.text(both.encode(errors="replace").decode())
    shown = both if len(both) <= MAX_CONFLICT_TEXT else both[: MAX_CONFLICT_TEXT - 1] + "…"
    return f"It conflicts with work that landed after this attempt began, in {', '.join(paths)}:\n\n{shown}"


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
