"""Runs one attempt: its steps in order, each in the same wrapper, each recorded when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Protocol

from ralph.config import NamedProvider
from ralph.engine.agent_limits import AgentLimits
from ralph.engine.breaker import Breaker
from ralph.engine.interrupt import Interrupt
from ralph.engine.run import Run
from ralph.engine.steering import Steering
from ralph.errors import RalphError
from ralph.journal.events import AttemptEnded, AttemptStarted, BreakerChanged, StepRetried, StepStarted, Waited
from ralph.plan.attempt import Attempt, Record, StepResult
from ralph.plan.model import NeedKind
from ralph.plan.usage import Usage
from ralph.plan.work import Outcome, StepSpec, Verdict, Work
from ralph.steps.base import Context, Step
from ralph.steps.host import Host
from ralph.steps.registry import is_built_in, step_type
from ralph.steps.way_out import dispute_in, disputed_tests

ENDS = frozenset({Verdict.LIMITED, Verdict.INTERRUPTED, Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.HELD})
"""After these, no other step runs, whatever its settings."""


class AttemptHost(Host, Protocol):
    """A host that also records attempts, provides circuit breakers and can be interrupted."""

    @property
    def interrupt(self) -> Interrupt: ...

    @property
    def limits(self) -> AgentLimits: ...

    @property
    def steering(self) -> Steering: ...

    def note(self, record: Record) -> None:
        """Save the progress of an attempt."""
        ...

    def breaker(self, spec: StepSpec) -> Breaker | None:
        """Return the circuit breaker that this step shares with the run's other attempts; None if it has none."""
        ...

    @property
    def may_wait(self) -> bool:
        """Whether an attempt waits here for a limited agent; in a race, only the last one that is running does."""
        ...

    async def pause(self, seconds: float) -> bool:
        """Wait; return False if a person interrupted the wait."""
        ...


async def run_attempt(attempt: Attempt, host: AttemptHost, record: Record) -> Record:
    """Run the steps that the record does not contain yet and return the completed record."""
    context = Context(attempt=attempt, host=host, record=record)
    for spec in attempt.work.steps:
        if _is_left_out(spec, record):
            continue
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
            if step.prepares and result.verdict is Verdict.PASSED:
                context = replace(context, attempt=await host.prepared(context.attempt))
        if not _continues(spec, result):
            break
    return record


def tell_begin(
    run: Run,
    work: Work,
    record: Record,
    *,
    failures: int,
    max_failures: int,
    resumed: bool = False,
    race: tuple[str, ...] = (),
) -> None:
    run.emit(
        AttemptStarted(
            work=work.id,
            kind=work.kind,
            title=work.title,
            attempt=record.number,
            failures=failures,
            max_failures=max_failures,
            base=record.base,
            resumed=resumed,
            agent=record.agent,
            race=race,
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
            agent=outcome.agent,
            gates=outcome.gates,
            evidence=outcome.evidence,
            concerns=outcome.concerns,
            proven_by=outcome.proven_by,
            reopened=outcome.reopened,
            tasks=len(run.plan.tasks),
            passed=run.plan.passed,
            accepted=run.plan.accepted,
            no_page=next((result.no_page for result in reversed(record.steps) if result.no_page), ""),
        )
    )


def _is_left_out(spec: StepSpec, record: Record) -> bool:
    """Return whether a step is left out: once an agent asks a person to decide about a gate, only the gates run."""
    said = dispute_in(record.steps)
    if spec.type == "ruling":
        return not disputed_tests(record.steps)
    return said is not None and said.verdict is Verdict.BLOCKED and spec.label != said.step and spec.type != "verify"


def _continues(spec: StepSpec, result: StepResult) -> bool:
    if result.need and result.need.kind is NeedKind.DISPUTE:
        return True
    if result.verdict in ENDS:
        return False
    return result.verdict is Verdict.PASSED or spec.resilience.continue_on_error


async def perform(step: Step, host: AttemptHost, context: Context) -> StepResult:
    """Run a step; while its agent is limited or down, have another one do it, or wait."""
    role = step.role(context.work)
    agents = context.agents(role) if role else ()
    calls, used = count(1), Usage()
    learned: tuple[str, ...] = ()
    agent = commit = ""
    while True:
        in_the_way = await _wait_for(agents, step.spec.label, host)
        if in_the_way:
            return replace(in_the_way, usage=used, learnings=learned, agent=agent, commit=commit)
        began = host.limits.clock()
        result = await _with_retries(step, host, context, calls)
        used, learned = used + result.usage, (*learned, *result.learnings)
        result = replace(result, usage=used, learnings=learned)
        agent, commit = result.agent or agent, result.commit or commit
        if not _is_put_off(agents, host, context, result, began):
            return result


async def _wait_for(agents: Sequence[NamedProvider], step: str, host: AttemptHost) -> StepResult | None:
    """Wait until an agent can work; return why the step cannot run if that takes too long, or a person interrupts."""
    limits = host.limits
    while limit := limits.in_the_way(agents, step):
        if not host.may_wait or not limits.is_worth_waiting(limit):
            return StepResult(step=step, verdict=Verdict.LIMITED, reason=limit.reason, retry_at=limit.until)
        seconds = limit.until - limits.clock()
        if limits.is_new(limit):
            host.emit(Waited(reason=limit.reason, seconds=seconds, agent=limit.agent, until=limit.until))
        if not await host.pause(seconds):
            return StepResult(step=step, verdict=Verdict.INTERRUPTED, reason="Interrupted while it was waiting.")
        limits.waited(limit)
    return None


def _is_put_off(
    agents: Sequence[NamedProvider], host: AttemptHost, context: Context, result: StepResult, began: float
) -> bool:
    """Note what a result says about its agent; return whether the step must run again, later or with another agent."""
    limits = host.limits
    if result.verdict is Verdict.LIMITED:
        step = "" if result.agent else result.step
        limits.add(result.reason, agent=result.agent, step=step, began=began, retry_at=result.retry_at)
        substitute = limits.free(agents) if result.agent else None
        if substitute:
            context.note(f"{result.reason.rstrip('.')}. Meanwhile {substitute.name} works.", warning=True)
        return True
    others = [agent for agent in agents if agent.name != result.agent]
    is_spared = not host.may_wait or any(limits.free([agent]) for agent in others)
    if result.fatal and result.agent and is_spared:
        limits.rule_out(result.agent, result.reason)
        context.note(f"{result.reason} Ralph does not use {result.agent} again in this run.", warning=True)
        return True
    if result.verdict is not Verdict.INTERRUPTED:
        limits.clear(result.agent, result.step)
    return False


async def _with_retries(step: Step, host: AttemptHost, context: Context, calls: Iterator[int]) -> StepResult:
    """Run a step with its circuit breaker, retries, retry delay, time limit and interrupt."""
    settings = step.spec.resilience
    breaker = host.breaker(step.spec)
    if breaker and not breaker.allows():
        return _left_out(step, breaker)
    used, mistakes = Usage(), ""
    learned: tuple[str, ...] = ()
    for turn in range(1, settings.max_retries + 2):
        result = await _once(step, host, context.at_try(turn, mistakes, next(calls)))
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
    why = f"The step {step.spec.label!r} failed {breaker.failures} times in a row, so Ralph pauses it."
    verdict = Verdict.FAILED if step.spec.resilience.continue_on_error else Verdict.LIMITED
    return StepResult(step=step.spec.label, verdict=verdict, reason=why, retry_at=breaker.closes_at)


def _count(host: Host, step: Step, breaker: Breaker, result: StepResult) -> None:
    before = breaker.state
    if result.verdict is Verdict.FAILED:
        breaker.failed()
    elif result.verdict in (Verdict.PASSED, Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.HELD, Verdict.REOPENED):
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
    """Run the step once, within its time limit; a person can interrupt it. No secret is in its result."""
    async with host.steering.step(host.interrupt):
        result = host.secrets.clean(await host.interrupt.interruptible(_timed(step, context)))
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
            reason=f"The step {step.spec.label!r} did not finish within {seconds:g} s.",
        )
    return result


async def _run(step: Step, context: Context) -> StepResult:
    try:
        result: object = await step.run(context)
    except (Exception, SystemExit) as error:  # another package's step can raise anything; our own bugs are not hidden
        if is_built_in(step) or isinstance(error, RalphError):
            raise
        return step.failed(f"The step {step.spec.label!r} crashed: {type(error).__name__}: {error}")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if is_built_in(step) or (task and task.cancelling()):
            raise
        return step.failed(f"The step {step.spec.label!r} crashed: it cancelled itself.")
    if not isinstance(result, StepResult):
        return step.failed(
            f"The step {step.spec.label!r} crashed: it returned {type(result).__name__} instead of a StepResult."
        )
    return result
