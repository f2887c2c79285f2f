"""The merge queue: passed work comes onto the branch one by one, verified together with what landed before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from ralph.errors import RalphError
from ralph.git.look import attempt_ref
from ralph.journal.events import Landed, Noted
from ralph.loop.attempt import cancellable
from ralph.loop.home import reclaim, sweep, tidy
from ralph.loop.place import Place
from ralph.loop.protection import Protection
from ralph.loop.record import Record
from ralph.loop.run import Run
from ralph.loop.settle import settle
from ralph.loop.site import Site
from ralph.plan.work import Outcome, Verdict, Work
from ralph.verify.suite import check

MOST_CONFLICTS = 5
MOST_TRIES = 3
TRAILER = "Ralph-Attempt"


@asynccontextmanager
async def take_turn(run: Run, *, watchful: bool = True) -> AsyncIterator[None]:
    """One after the other changes the plan or the branch; `watchful`: nobody else has any business there."""
    home = run.place
    async with run.turn:
        if home and run.lands and watchful:
            await _reclaim(run, home)
        try:
            yield
        finally:
            if home and run.lands:
                landed = run.landed.get(home.tip, 0)
                home.tip = await home.repo.head()
                run.landed.setdefault(home.tip, landed)  # a commit of state brings nothing to verify


async def _reclaim(run: Run, home: Place) -> None:
    kept = await reclaim(home)
    if kept:
        text = f"Somebody else has moved {home.branch}, where only verified work may land: that was undone"
        run.emit(Noted(text=f"{text}, and is kept in {kept}.", warning=True))


async def land(run: Run, site: Site, work: Work, record: Record, outcome: Outcome) -> Outcome:
    """Bring an attempt's work onto the branch, or send it back; the plan says which. Whoever calls has the turn."""
    home = run.place
    assert home is not None, "what is done side by side has a branch to land on"
    await _keep(home, site, record, outcome.commit)
    for _ in range(MOST_TRIES):
        tip = home.tip = await home.repo.head()
        together = await _bring_together(run, home, work, record, outcome, tip)
        if together.verdict is not Verdict.PASSED:
            await sweep(home)
            if together.verdict is not Verdict.INTERRUPTED:
                await run.save(settle(run.plan, work, together, run.workflow.policy).plan)
            return together
        commit = await _advance(run, home, work, record, together, tip)
        if commit:
            run.emit(Landed(work=work.id, number=record.number, commit=commit))
            return replace(together, commit=commit)
        await sweep(home)
        await _reclaim(run, home)
    raise RalphError(f"{home.branch} is moved by somebody else all the time.", remedy="Stop that, then run again.")


async def _keep(home: Place, site: Site, record: Record, commit: str) -> None:
    """What is to land is what its ref has, with what gates and hooks made of it."""
    ref = attempt_ref(record.target, record.work, record.number)
    if home.repo.points_to(ref, commit):
        return
    await home.repo.keep(ref, commit)
    for place in (home, site.place):
        if place and place.refs is not None:
            place.refs[ref] = commit


async def _bring_together(run: Run, home: Place, work: Work, record: Record, outcome: Outcome, tip: str) -> Outcome:
    """The work on top of the branch, in the run's own checkout, and what it comes to there."""
    _, squashed, has_moved = await asyncio.gather(
        tidy(home, after_gates=run.gates_at_home),
        home.repo.squash(outcome.commit, record.base),
        _has_moved(run, home, record.base, tip),
    )
    collision = await home.apply(squashed)
    if collision is not None:
        run.conflicts[work.id] = run.conflicts.get(work.id, 0) + 1
        free = run.conflicts[work.id] <= MOST_CONFLICTS
        return replace(outcome, verdict=Verdict.CONFLICTED if free else Verdict.FAILED, reason=collision)
    task = run.plan.find(work.id)
    is_ui = run.workflow.is_ui(run.plan, task)
    if not is_ui and not has_moved:
        return outcome
    await home.repo.fill_submodules()
    run.gates_at_home = True
    undone = run.logs / f"{work.id}-{record.number}-undone-where-it-landed"
    bench = run.bench(run.home, f"{work.id}-{record.number}-landing", work.id)
    async with Protection.around(run, run.home, work, tip, undone) as protection:
        ui = run.ui_work(task, work.id, record.number)
        checked = await cancellable(run, check(run.workflow.gates(task), bench, ui))
    if checked is None:
        return replace(outcome, verdict=Verdict.INTERRUPTED)
    reason = "\n\n".join(filter(None, (protection.wrongs.reason("A gate"), checked.reason)))
    if not reason:
        return replace(outcome, gates=checked.results)
    if has_moved:
        reason = f"Together with what has landed meanwhile it is not green any more. {reason}"
    return replace(outcome, verdict=Verdict.FAILED, reason=reason, gates=checked.results)


async def _has_moved(run: Run, home: Place, base: str, tip: str) -> bool:
    """Whether anything but state has landed since the gates were green."""
    if base in run.landed and tip in run.landed:
        return run.landed[base] != run.landed[tip]
    return any(not home.is_own(path) for path in await home.repo.between(base, tip))


async def _advance(run: Run, home: Place, work: Work, record: Record, outcome: Outcome, tip: str) -> str:
    """Code and state in one commit and one move of the branch; empty if the branch is not where it was."""
    settled = settle(run.plan, work, outcome, run.workflow.policy)
    subject = outcome.summary or run.workflow.commit_message(run.plan, work)
    message = f"{subject.strip()}\n\n{TRAILER}: {record.target}/{work.id}/{record.number}\n"
    run.write(settled.plan)
    state = [home.in_repo(path) for path in run.workflow.state_paths if home.has(path)]
    commit = await home.repo.advance(home.branch, state, message, tip)
    if commit:
        run.plan = settled.plan
        run.landed[commit] = max(run.landed.values(), default=0) + 1
    return commit
