"""Applies `worktrees.maxGb` and `keepDays`: removes unused working copies, but never the only copy of any work."""

from __future__ import annotations

import time

from ralph.checkout.worktrees import PLAN, Judge, Worktree, all_worktrees, in_words, remove
from ralph.engine.run import Run
from ralph.journal.events import Noted

GB = 1e9
DAY = 86_400


async def hold_limits(run: Run, *, is_over: bool) -> None:
    """Remove working copies that exceed the limits, the least recently used first, and report them.

    Before a run, keep the copies that it will use. After the run, remove them only after those of other targets.
    """
    assert run.branch
    limits = run.config.worktrees
    everything = [one for one in all_worktrees(run.workspace) if one.kind != PLAN or one.target != run.plan.target]
    spare = sorted(
        (one for one in everything if is_over or one.kind == PLAN or one.number > run.jobs),
        key=lambda one: (one.target == run.plan.target, one.used),
    )
    if not spare:
        return
    judge = Judge(run.workspace, (run.branch.repo,))
    if limits.keep_days:
        border = time.time() - limits.keep_days * DAY
        why = f"unused for longer than worktrees.keepDays ({limits.keep_days:g})"
        gone = [one for one in spare if one.used < border and await _remove_if_safe(judge, one)]
        _tell(run, gone, why)
        everything, spare = ([one for one in those if one not in gone] for those in (everything, spare))
    if limits.max_gb:
        await _hold_size(run, judge, everything, spare, limits.max_gb)


async def _hold_size(run: Run, judge: Judge, everything: list[Worktree], spare: list[Worktree], max_gb: float) -> None:
    over = sum(one.size for one in everything) - max_gb * GB
    gone: list[Worktree] = []
    for one in spare:
        if over <= 0:
            break
        if await _remove_if_safe(judge, one):
            gone.append(one)
            over -= one.size
    _tell(run, gone, f"together, the copies exceeded worktrees.maxGb ({max_gb:g})")
    if over > 0:
        text = f"The working copies take {in_words(over + max_gb * GB)}, more than worktrees.maxGb ({max_gb:g})."
        text += " The rest is in use or holds the only copy of some work. See `ralph worktrees`."
        run.emit(Noted(text=text, warning=True))


async def _remove_if_safe(judge: Judge, one: Worktree) -> bool:
    """Remove the working copy if this loses nothing."""
    judged = await judge.judge(one)
    if judged.stays:
        return False
    _ = one.size  # measure it before it is removed; the report needs the size
    await remove(judged, judge.repo_of(judged))
    return True


def _tell(run: Run, gone: list[Worktree], why: str) -> None:
    if gone:
        names = ", ".join(one.name for one in gone)
        size = in_words(sum(one.size for one in gone))
        run.emit(Noted(text=f"Removed working copies ({names}; {size}): {why}."))
