"""What an earlier run left: its processes end, its agent's work is kept, its attempt goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote_to_bytes

from ralph.git.look import attempt_ref
from ralph.journal.events import Noted
from ralph.journal.writer import now
from ralph.loop import record as records
from ralph.loop.loop import attempt, close
from ralph.loop.place import Changes, Left, Place
from ralph.loop.record import Record, StepResult
from ralph.loop.run import Run
from ralph.loop.settle import is_settled
from ralph.loop.site import Site
from ralph.loop.verdict import conclude
from ralph.plan.work import Outcome, Verdict
from ralph.process import tree
from ralph.stores import lock
from ralph.stores.lock import Owner

VERIFYING = "verifying"
Sites = Callable[[Record], Awaitable[Site | None]]
"""Where an attempt was made, ready to go on; None: that is not there any more, or cannot be used now."""


async def end_orphans(left_by: Owner | None, folder: Path) -> int:
    """End what killed runs' agents, gates and services left running; says how many processes that were."""
    dead = {record.run for record in records.load(folder)} | ({left_by.run} if left_by else set())
    return await _end(dead) + await end_verifying(folder)


@contextmanager
def verifying(folder: Path, run_id: str) -> Iterator[None]:
    """A verification by hand, beside whatever run there may be: should it be killed, the next one knows of it."""
    with lock.hold(folder / VERIFYING / run_id, lock.me(run_id, "")):
        yield


async def end_verifying(folder: Path) -> int:
    """End what killed verifications by hand left running."""
    dead = [path for path in (folder / VERIFYING).glob("*") if lock.holder(path) is None]
    count = await _end({path.name for path in dead})
    for path in dead:
        path.unlink(missing_ok=True)
    return count


async def _end(runs: set[str]) -> int:
    orphans = {pid for run in runs for pid in tree.marked(f"{run}.")}
    await tree.end(orphans, grace=2.0, wake=True)
    return len(orphans)


async def rescue(place: Place, record: Record) -> None:
    """Keep what a killed attempt's agent had made so far; what one made that was only to look is put back."""
    place.foreign = {os.fsdecode(unquote_to_bytes(path)) for path in record.persons}
    changes = await place.changes(record.base, await place.straighten(record.base, record.ground))
    if record.only_looks:
        changes = await _without_new(place, changes, record)
    ref = attempt_ref(record.target, record.work, record.number)
    commit = await place.keep(ref, changes, f"{record.work}, attempt {record.number}: interrupted")
    await place.kept()
    known = next((left for left in place.lefts() if left.target == record.target), Left(target=record.target))
    if changes.left:
        place.remember_left(replace(known, commit=commit, parent=changes.head, also=record.shown))
    if record.shown and await place.put_back(record.shown, commit):
        place.remember_left(replace(known, commit=record.shown, parent=changes.head, also=""))


async def _without_new(place: Place, changes: Changes, record: Record) -> Changes:
    """Somebody was only to look: files that are new since then are a person's, made after the run was killed."""
    given = await place.repo.paths_in(record.shown) if record.shown else []
    place.foreign |= place.made - set(given)
    place.made &= set(given)
    return replace(changes, left=tuple(path for path in changes.left if path not in place.foreign))


async def recover(run: Run, sites: Sites) -> Outcome | None:
    """Bring the attempts that were under way to their ends; says what the last of them came to."""
    outcome = None
    for record in records.load(run.workspace.records, run.plan.target):
        outcome = await _recover(run, record, await sites(record)) or outcome
    return outcome


async def _recover(run: Run, record: Record, site: Site | None) -> Outcome | None:
    work = run.workflow.work(run.plan, record.kind, record.work)
    if work is None or is_settled(run.plan, work, record.number):
        run.forget(record)
        return None
    if record.has_work and site:
        run.emit(Noted(text=f"{record.work} goes on where it stopped: its agent had finished."))
        kept = next(result.commit for result in reversed(record.steps) if result.commit)
        if site.place and (record.shown or not record.agent_at_work):
            await site.place.repo.keep(attempt_ref(record.target, record.work, record.number), kept)
        return await attempt(run, site, work, record, resumed=True)
    run.emit(Noted(text=f"{record.work}, attempt {record.number} was cut short; {_where(run, record)}."))
    cut = StepResult(step="agent", verdict=Verdict.INTERRUPTED, reason="The run was killed.")
    record = replace(record, steps=(*record.steps, cut))
    outcome = conclude(run.plan, work, record, now())
    await close(run, site or run.home, work, record, outcome)
    return outcome


def _where(run: Run, record: Record) -> str:
    """Another checkout is not looked into: a person may have gone on there."""
    if record.slot or not record.root or record.root == str(run.home.cwd):
        return "what it made is kept"
    return f"what it had not committed is still in {record.root}"
