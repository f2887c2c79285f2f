"""The work of a run: recovery, the baseline, and the loop. A plan that is complete needs none of this."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ralph.engine.baseline import check_baseline
from ralph.engine.containment import contained
from ralph.engine.loop import work_through
from ralph.engine.recovery import check_repository, prove_again, recover, rescue
from ralph.engine.run import Doubt, Run
from ralph.engine.worktree_pool import WorktreePool
from ralph.plan.work import Ending, Finished, Verdict

if TYPE_CHECKING:
    from ralph.engine.lifecycle import Options


MOMENT = 0.05


async def work(run: Run, options: Options, doubt: Doubt) -> Finished:
    """Resume what a killed run left, check the baseline, then run attempts until the run is over."""
    run.note_passed(is_over=False, repository=check_repository(run, doubt.repository))
    async with contained(run), run.steering.listening(), WorktreePool.opened(run) as slots:
        await rescue(run, slots)
        await prove_again(run, doubt)
        outcome = await recover(run, slots)
        if outcome and outcome.verdict is not Verdict.INTERRUPTED and options.once:
            return Finished(ending=Ending.ONCE, reason=outcome.verdict.value)
        async with run.steering.changing():
            if options.baseline and not run.interrupt.requested:
                run.workflow.already_red = await check_baseline(run)
            with _deadline(run):
                return await work_through(run, slots, once=options.once, abrupt=options.abrupt)


@contextmanager
def _deadline(run: Run) -> Iterator[None]:
    """With a hard budget of time, end running agents when it is over."""
    guard = asyncio.create_task(_halt_in_time(run)) if run.spending.budget.hard else None
    try:
        yield
    finally:
        if guard:
            guard.cancel()


async def _halt_in_time(run: Run) -> None:
    seconds = run.spending.seconds_left
    if seconds is None:
        return
    await asyncio.sleep(max(seconds, MOMENT))
    if run.spending.seconds_left:
        await _halt_in_time(run)  # a pause has put it off
    else:
        run.interrupt.halt()
