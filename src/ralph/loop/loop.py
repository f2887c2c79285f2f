"""The loop: take the next work, make an attempt, settle what it came to, again."""

from __future__ import annotations

import os
from dataclasses import replace
from urllib.parse import quote

from ralph.git.look import attempt_ref
from ralph.journal.events import SpecClosed, TaskBlocked, Waited
from ralph.journal.writer import now
from ralph.loop.attempt import pause, run_attempt, tell_begin, tell_end
from ralph.loop.landing import land, take_turn
from ralph.loop.record import Record
from ralph.loop.run import Run
from ralph.loop.settle import settle
from ralph.loop.site import Site
from ralph.loop.steps import step_type
from ralph.loop.verdict import conclude
from ralph.plan.model import Plan, TaskState
from ralph.plan.work import Ending, Finished, Kind, Outcome, Verdict, Waiting, Work, standing

MOST_WAITS = 20
FIRST_WAIT, LONGEST_WAIT = 60.0, 1800.0


async def work_through(run: Run, *, once: bool = False) -> Finished:
    """Attempt after attempt until nothing is left to do, or a person or a limit says stop."""
    waits = 0
    while True:
        work = run.workflow.next(run.plan)
        assert not isinstance(work, Waiting), "nothing is under way"
        if isinstance(work, Finished):
            return work
        if run.interrupt.requested:
            return Finished(ending=Ending.INTERRUPTED)
        outcome = await attempt(run, run.home, work, await begin(run, run.home, work))
        end = stop(outcome, once)
        if end:
            return end
        waits = waits + 1 if outcome.verdict is Verdict.LIMITED else 0
        if waits and not await wait(run, outcome, waits):
            return Finished(ending=Ending.LIMITED, reason=outcome.reason)


async def begin(run: Run, site: Site, work: Work) -> Record:
    """Mark the work as begun, then write down that an attempt is under way: in this order."""
    if not site.slot or await _begun(run, site, work) != run.plan:  # else nobody has to wait for those that land
        async with take_turn(run):
            await run.save(await _begun(run, site, work), commit=not run.workflow.policy.holds)
    return await _note(run, site, work)


async def _begun(run: Run, site: Site, work: Work) -> Plan:
    plan = await _on_what_is_there(run, site, work)
    if work.kind is Kind.TASK and not site.slot:
        plan = replace(plan, current=work.id)
    return replace(plan, started_at=plan.started_at or now())


async def _note(run: Run, site: Site, work: Work) -> Record:
    known = standing(run.plan, work.kind, work.id)
    settled = known.attempts if known else 0
    place = site.place
    base = await place.look() if place else ""
    record = Record(
        run=run.id,
        target=run.plan.target,
        kind=work.kind,
        work=work.id,
        number=max(settled, run.numbers.get(work.id, 0)) + 1,
        base=base,
        root=str(site.cwd),
        slot=site.slot,
        ground=await place.ground() if place and run.workflow.policy.holds else "",
        branch=place.branch if place else "",
        began=run.clock(),
        persons=tuple(quote(os.fsencode(path)) for path in sorted(place.foreign)) if place else (),
        agent_at_work=step_type(work.steps[0].type).runs_agent,
        only_looks=step_type(work.steps[0].type).only_looks,
    )
    if record.agent_at_work:
        run.keep_plan()
    run.note(record)
    return record


async def _on_what_is_there(run: Run, site: Site, work: Work) -> Plan:
    """A task on whose branch somebody has committed meanwhile begins anew there: that is not to be taken back."""
    task, place = run.plan.find(work.id), site.place
    if not place or not task or not task.base or not task.attempts:
        return run.plan
    if site.slot:  # its earlier work has been laid on the newest state of the branch
        return run.plan.change(task.id, lambda task: replace(task, base="", notes=place.with_collisions(task.notes)))
    await place.look()
    kept = (place.refs or {}).get(attempt_ref(run.plan.target, task.id, task.attempts))
    if not kept or not await place.has_moved(kept):
        return run.plan
    return run.plan.change(task.id, lambda task: replace(task, base=""))


async def attempt(run: Run, site: Site, work: Work, record: Record, *, resumed: bool = False) -> Outcome:
    """Make an attempt, or the rest of one, and settle it."""
    known = standing(run.plan, work.kind, work.id)
    failures = known.failures if known else 0
    tell_begin(run, work, record, failures=failures, most=run.workflow.policy.max_failures, resumed=resumed)
    began = run.clock()
    record = await run_attempt(run, site, work, record)
    outcome = conclude(run.plan, work, record, now(), run.clock() - began)
    if site.place:
        await site.place.kept()
    if outcome.verdict is Verdict.INTERRUPTED and record.has_work:
        return outcome  # its agent had finished: the next run goes on from the record
    return await close(run, site, work, record, outcome)


async def close(run: Run, site: Site, work: Work, record: Record, outcome: Outcome) -> Outcome:
    """Land it or settle it, then forget the record; says what it came to in the end."""
    async with take_turn(run, watchful=bool(site.slot)):
        if site.slot and outcome.verdict is Verdict.PASSED:
            outcome = await land(run, site, work, record, outcome)
            if outcome.verdict is Verdict.INTERRUPTED:
                return outcome  # the next run lands it
        else:
            await _settle(run, site, work, record, outcome)
        run.forget(record)
    _tell(run, work, record, outcome)
    return outcome


async def _settle(run: Run, site: Site, work: Work, record: Record, outcome: Outcome) -> None:
    """Settle, put the place right, save, commit: a crash between any two is harmless."""
    settled = settle(run.plan, work, outcome, run.workflow.policy)
    if settled.restore and site.place and not site.slot:  # what a slot holds is on no branch
        ref = attempt_ref(record.target, work.id, record.number)
        message = f"revert: {work.id} is blocked; its work is in {ref}"
        await site.place.restore(settled.restore, message, record.target)
    committed = work.kind is Kind.FINISH and outcome.verdict is Verdict.PASSED
    await run.save(settled.plan, commit=committed or not run.workflow.policy.holds)


def _tell(run: Run, work: Work, record: Record, outcome: Outcome) -> None:
    ref = attempt_ref(record.target, work.id, record.number) if work.kind is not Kind.FINISH else ""
    tell_end(run, work, record, outcome, ref=ref)
    _tell_closed(run, work)
    for task_id in (work.id, *outcome.reopened):
        task = run.plan.find(task_id)
        if task and task.state is TaskState.BLOCKED:
            run.emit(
                TaskBlocked(work=task.id, reason=task.notes, ref=attempt_ref(record.target, task.id, task.attempts))
            )


def _tell_closed(run: Run, work: Work) -> None:
    spec = run.plan.find_spec(work.id) if work.kind is Kind.FINISH else None
    if spec and spec.state is not TaskState.PENDING:
        tasks = run.plan.of_spec(spec.id)
        run.emit(
            SpecClosed(
                work=spec.id,
                title=spec.name,
                state=spec.state,
                tasks=len(tasks),
                passed=sum(task.state is TaskState.PASSED for task in tasks),
                commit=spec.result.commit if spec.result else "",
            )
        )


def stop(outcome: Outcome, once: bool) -> Finished | None:
    if outcome.fatal:
        return Finished(ending=Ending.STOPPED, reason=outcome.reason)
    if outcome.verdict is Verdict.INTERRUPTED:
        return Finished(ending=Ending.INTERRUPTED)
    if once and outcome.verdict is not Verdict.LIMITED:
        return Finished(ending=Ending.ONCE, reason=outcome.verdict.value)
    return None


async def wait(run: Run, outcome: Outcome, waits: int) -> bool:
    """Wait for a usage limit's reset, or back off; False when it has been long enough."""
    if waits > MOST_WAITS:
        return False
    backoff = min(FIRST_WAIT * 2 ** (waits - 1), LONGEST_WAIT)
    seconds = max(outcome.retry_at - run.clock(), 1.0) if outcome.retry_at else backoff
    run.emit(Waited(reason=outcome.reason, seconds=seconds))
    await pause(run, seconds)
    if run.place:
        run.place.seen = False  # a person may have been here meanwhile
    return True
