"""One attempt, the same everywhere: its steps in order, each wrapped once, each written down as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from ralph.journal.events import AttemptEnded, AttemptStarted, StepRetried, StepStarted
from ralph.loop import record as records
from ralph.loop.record import Record, StepResult
from ralph.loop.run import Run
from ralph.loop.steps import STEPS
from ralph.loop.steps.base import Context, Step
from ralph.plan.work import Outcome, StepSpec, Verdict, Work

T = TypeVar("T")


async def run_attempt(run: Run, work: Work, record: Record) -> Record:
    """Make the steps that the record does not have yet; the record that comes back tells everything."""
    context = Context(run=run, work=work, record=record)
    for spec in work.steps:
        result = record.result_of(spec.label)
        if result is None:
            run.emit(StepStarted(work=work.id, number=record.number, step=spec.label))
            result = _printable(await perform(STEPS[spec.type](spec), context))
            record = record.add(result)
            if result.verdict is not Verdict.INTERRUPTED and not STEPS[spec.type].repeatable:
                records.save(run.workspace.records, record)
            context = context.after(record)
        if not _goes_on(spec, result):
            break
    return record


def tell_begin(run: Run, work: Work, record: Record, *, failures: int, most: int, resumed: bool = False) -> None:
    run.emit(
        AttemptStarted(
            target=record.target,
            work=work.id,
            kind=work.kind,
            title=work.title,
            number=record.number,
            failures=failures,
            max_failures=most,
            base=record.base,
            resumed=resumed,
        )
    )


def tell_end(run: Run, work: Work, record: Record, outcome: Outcome, *, ref: str = "") -> None:
    run.emit(
        AttemptEnded(
            target=record.target,
            work=work.id,
            kind=work.kind,
            number=record.number,
            verdict=outcome.verdict,
            reason=outcome.reason,
            base=record.base,
            commit=outcome.commit,
            ref=ref,
            seconds=run.clock() - record.began,
            usage=outcome.usage,
            gates=outcome.gates,
            reopened=outcome.reopened,
        )
    )


def _printable(result: StepResult) -> StepResult:
    """Names of files can be any bytes; what is written down and shown is text."""
    reason, summary = (text.encode(errors="backslashreplace").decode() for text in (result.reason, result.summary))
    return replace(result, reason=reason, summary=summary)


def _goes_on(spec: StepSpec, result: StepResult) -> bool:
    if result.verdict in (Verdict.LIMITED, Verdict.INTERRUPTED):
        return False
    return result.verdict is Verdict.PASSED or spec.resilience.continue_on_error


async def perform(step: Step, context: Context) -> StepResult:
    """The one wrapper around every step: circuit breaker, retries with their delay, time limit, interrupt."""
    settings = step.spec.resilience
    breaker = context.run.breaker(step.spec)
    if breaker and not breaker.allows():
        return step.failed(f"The step {step.spec.label!r} is left out: it failed {breaker.failures} times in a row.")
    for left in range(settings.max_retries, -1, -1):
        result = await _once(step, context)
        if breaker and result.verdict in (Verdict.PASSED, Verdict.FAILED):
            (breaker.succeeded if result.verdict is Verdict.PASSED else breaker.failed)()
        if result.verdict is not Verdict.FAILED or not left or (breaker and not breaker.allows()):
            return result
        context.run.emit(
            StepRetried(work=context.work.id, step=step.spec.label, reason=result.reason, delay=settings.retry_delay)
        )
        if not await pause(context.run, settings.retry_delay):
            return replace(result, verdict=Verdict.INTERRUPTED)
    return result


async def _once(step: Step, context: Context) -> StepResult:
    """One try, within its time limit, and cut short when a person says so."""
    result = await cancellable(context.run, _timed(step, context))
    return result or StepResult(step=step.spec.label, verdict=Verdict.INTERRUPTED, reason="Interrupted.")


async def _timed(step: Step, context: Context) -> StepResult:
    seconds = step.spec.resilience.timeout
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            result = await step.run(context)
    except TimeoutError:
        if not limit.expired():
            raise
        result = step.failed("")
    if limit.expired():
        return replace(
            result,
            verdict=Verdict.FAILED,
            reason=f"The step {step.spec.label!r} did not end within {seconds:g} s.",
        )
    return result


async def pause(run: Run, seconds: float) -> bool:
    """Wait; False if a person cut it short."""
    return bool(await cancellable(run, asyncio.sleep(seconds, result=True)))


async def cancellable(run: Run, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` returns; None if a person cut it short."""
    task = asyncio.create_task(work)
    with run.interrupt.scope(task):
        try:
            return await task
        except asyncio.CancelledError:
            if not run.interrupt.requested:
                raise
            return None
