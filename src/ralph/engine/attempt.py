"""Runs one attempt: its steps in order, each in the same wrapper, each recorded when it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Protocol

from ralph.engine.breaker import Breaker
from ralph.engine.interrupt import Interrupt
from ralph.engine.run import Run
from ralph.errors import RalphError
from ralph.journal.events import AttemptEnded, AttemptStarted, BreakerChanged, StepRetried, StepStarted
from ralph.plan.attempt import Attempt, Record, StepResult
from ralph.plan.usage import Usage
from ralph.plan.work import Outcome, StepSpec, Verdict, Work
from ralph.steps.base import Context, Step
from ralph.steps.host import Host
from ralph.steps.registry import is_built_in, step_type


class AttemptHost(Host, Protocol):
    """A host that also records attempts, provides circuit breakers and can be interrupted."""

    @property
    def interrupt(self) -> Interrupt: ...

    def note(self, record: Record) -> None:
        """Save the progress of an attempt."""
        ...

    def breaker(self, spec: StepSpec) -> Breaker | None:
        """Return the circuit breaker that this step shares with the run's other attempts; None if it has none."""
        ...

    async def pause(self, seconds: float) -> bool:
        """Wait; return False if a person interrupted the wait."""
        ...


async def run_attempt(attempt: Attempt, host: AttemptHost, record: Record) -> Record:
    """Run the steps that the record does not contain yet and return the completed record."""
    context = Context(attempt=attempt, host=host, record=record)
    for spec in attempt.work.steps:
        result = record.result_of(spec.label)
        if result is None:
            step = step_type(spec.type)(spec)
            if step.runs_agent and not record.agent_at_work:
                record = replace(record, agent_at_work=True, read_only=step.read_only)
                host.note(record)
                context = context.after(record)
            host.emit(StepStarted(work=attempt.work.id, attempt=attempt.number, step=spec.label))
            record = record.add(await perform(step, host, context))
            result = record.steps[-1]
            if result.verdict is not Verdict.INTERRUPTED and not step.repeatable:
                host.note(record)
            context = context.after(record)
        if not _goes_on(spec, result):
            break
    return record


def tell_begin(run: Run, work: Work, record: Record, *, failures: int, most: int, resumed: bool = False) -> None:
    run.emit(
        AttemptStarted(
            work=work.id,
            kind=work.kind,
            title=work.title,
            attempt=record.number,
            failures=failures,
            max_failures=most,
            base=record.base,
            resumed=resumed,
            tasks=len(run.plan.tasks),
            passed=run.plan.passed,
            accepted=run.plan.accepted,
        )
    )


def tell_end(run: Run, work: Work, record: Record, outcome: Outcome, *, ref: str = "") -> None:
    run.emit(
        AttemptEnded(
            work=work.id,
            kind=work.kind,
            attempt=record.number,
            verdict=outcome.verdict,
            reason=outcome.reason,
            base=record.base,
            commit=outcome.commit,
            ref=ref,
            seconds=outcome.seconds,
            usage=outcome.usage,
            gates=outcome.gates,
            reopened=outcome.reopened,
            tasks=len(run.plan.tasks),
            passed=run.plan.passed,
            accepted=run.plan.accepted,
            no_page=next((result.no_page for result in reversed(record.steps) if result.no_page), ""),
        )
    )


def _goes_on(spec: StepSpec, result: StepResult) -> bool:
    if result.verdict in (Verdict.LIMITED, Verdict.INTERRUPTED, Verdict.UNFINISHED, Verdict.BLOCKED):
        return False
    return result.verdict is Verdict.PASSED or spec.resilience.continue_on_error


async def perform(step: Step, host: AttemptHost, context: Context) -> StepResult:
    """Run a step with its circuit breaker, retries, retry delay, time limit and interrupt."""
    settings = step.spec.resilience
    breaker = host.breaker(step.spec)
    if breaker and not breaker.allows():
        return _left_out(step, breaker)
    used, mistakes = Usage(), ""
    learned: tuple[str, ...] = ()
    for turn in range(1, settings.max_retries + 2):
        result = await _once(step, host, context.at_try(turn, mistakes))
        mistakes = result.reason
        if breaker:
            _count(host, step, breaker, result)
        used, learned = used + result.usage, (*learned, *result.learnings)
        result = replace(result, usage=used, learnings=learned)
        is_over = result.verdict is not Verdict.FAILED or result.final or turn > settings.max_retries
        if is_over or (breaker and not breaker.allows()):
            return result
        host.emit(
            StepRetried(
                work=context.work.id,
                attempt=context.attempt.number,
                step=step.spec.label,
                reason=result.reason,
                delay=settings.retry_delay,
            )
        )
        if not await host.pause(settings.retry_delay):
            return replace(result, verdict=Verdict.INTERRUPTED)
    return result


def _left_out(step: Step, breaker: Breaker) -> StepResult:
    """Handle an open breaker: skip a step that may fail; for any other step, postpone the attempt."""
    why = f"The step {step.spec.label!r} failed {breaker.failures} times in a row, and is left alone for a while."
    verdict = Verdict.FAILED if step.spec.resilience.continue_on_error else Verdict.LIMITED
    return StepResult(step=step.spec.label, verdict=verdict, reason=why, retry_at=breaker.closes_at)


def _count(host: Host, step: Step, breaker: Breaker, result: StepResult) -> None:
    before = breaker.state
    if result.verdict is Verdict.FAILED:
        breaker.failed()
    elif result.verdict in (Verdict.PASSED, Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.REOPENED):
        breaker.succeeded()
    if breaker.state is not before:
        host.emit(
            BreakerChanged(
                step=step.spec.label,
                state=breaker.state.value,
                failures=breaker.failures,
                until=breaker.closes_at,
            )
        )


async def _once(step: Step, host: AttemptHost, context: Context) -> StepResult:
    """Run the step once, within its time limit; a person can interrupt it."""
    result = await host.interrupt.interruptible(_timed(step, context))
    return result or StepResult(step=step.spec.label, verdict=Verdict.INTERRUPTED, reason="Interrupted.")


async def _timed(step: Step, context: Context) -> StepResult:
    seconds = step.spec.resilience.timeout
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            result = await _run(step, context)
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


async def _run(step: Step, context: Context) -> StepResult:
    try:
        result: object = await step.run(context)
    except (Exception, SystemExit) as error:  # another package's step can raise anything; our own bugs are not hidden
        if is_built_in(step) or isinstance(error, RalphError):
            raise
        return step.failed(f"The step {step.spec.label!r} broke: {type(error).__name__}: {error}")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if is_built_in(step) or (task and task.cancelling()):
            raise
        return step.failed(f"The step {step.spec.label!r} broke: it cancelled itself")
    if not isinstance(result, StepResult):
        return step.failed(f"The step {step.spec.label!r} broke: it gave {type(result).__name__}, not a StepResult")
    return result
